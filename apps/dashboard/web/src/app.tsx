/** Who looks, what they may ask, how it is drawn; then the pages. */
import { Center, Loader, MantineProvider } from '@mantine/core'
import { Notifications } from '@mantine/notifications'
import { PawlError } from '@pawl/core'
import { QueryClientProvider, useQuery } from '@tanstack/react-query'
import { useMemo, useState, type ReactNode } from 'react'
import { createBrowserRouter } from 'react-router'
import { RouterProvider } from 'react-router/dom'
import { ConnectionContext, openApi, readSession } from './api.ts'
import { base, styleNonce } from './place.ts'
import { createQueries } from './queries.ts'
import { routes } from './routes.tsx'
import { colours, theme } from './theme.ts'
import { Problem } from './ui/problem.tsx'

export function App() {
  const [queries] = useState(createQueries)
  return (
    <MantineProvider theme={theme} cssVariablesResolver={colours} defaultColorScheme="auto" getStyleNonce={() => styleNonce}>
      <QueryClientProvider client={queries}>
        <Notifications position="bottom-right" />
        <Connected><Pages /></Connected>
      </QueryClientProvider>
    </MantineProvider>
  )
}

function Connected({ children }: { readonly children: ReactNode }) {
  const { data: session, error, refetch } = useQuery({ queryKey: ['session'], queryFn: readSession, staleTime: Infinity, gcTime: Infinity, refetchOnWindowFocus: false })
  const connection = useMemo(() => (session === undefined ? undefined : { api: openApi(session), session }), [session])
  if (connection !== undefined) return <ConnectionContext value={connection}>{children}</ConnectionContext>
  // The login page is on its way.
  if (error === null || (error instanceof PawlError && error.code === 'UNAUTHENTICATED')) return <Center h="100vh"><Loader aria-label="Loading" /></Center>
  return <Center h="100vh" p="md"><Problem error={error} onRetry={() => { void refetch() }} /></Center>
}

function Pages() {
  const [router] = useState(() => createBrowserRouter(routes, { basename: base === '' ? '/' : base }))
  return <RouterProvider router={router} />
}
