/** Every address of the pages. A page's file exports it as `Component`; its code comes when somebody goes there. */
import type { RouteObject } from 'react-router'
import { Frame } from './shell/frame.tsx'
import { NotFound } from './shell/not-found.tsx'
import { RouteProblem } from './shell/route-problem.tsx'

export const routes: RouteObject[] = [{
  path: '/', Component: Frame, HydrateFallback: () => null, ErrorBoundary: RouteProblem,
  children: [{
    // Inside the frame: a page that breaks leaves the way to the others.
    ErrorBoundary: RouteProblem,
    children: [
      { index: true, lazy: () => import('./pages/runs/runs-page.tsx') },
      { path: 'runs/:runId', lazy: () => import('./pages/run/run-page.tsx') },
      { path: 'runs/:runId/items/:seq', lazy: () => import('./pages/item/item-page.tsx') },
      { path: 'inbox', lazy: () => import('./pages/inbox/inbox-page.tsx') },
      { path: 'fleet', lazy: () => import('./pages/fleet/fleet-page.tsx') },
      { path: 'tools', lazy: () => import('./pages/tools/tools-page.tsx') },
      { path: '*', Component: NotFound },
    ],
  }],
}]
