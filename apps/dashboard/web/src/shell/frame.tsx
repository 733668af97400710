/** What is around every page: the way to the others, who is logged in, whether what is shown is new. */
import { Alert, AppShell, Badge, Box, Burger, Group, Stack, Text, UnstyledButton } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { Link, NavLink, Outlet, useLocation } from 'react-router'
import { useApi, useSession } from '../api.ts'
import { base } from '../place.ts'
import { calmMs } from '../queries.ts'
import { useReachable } from '../reachable.ts'
import { number } from '../words.ts'
import { ColorScheme } from './color-scheme.tsx'
import { Shortcuts } from './shortcuts.tsx'

/** The API counts no further. */
const most = 1_000

/** Things in the inbox; undefined where there is none, and while it is not known. */
function useWaiting(): string | undefined {
  const api = useApi()
  const { data = 0 } = useQuery({ queryKey: ['waiting'], queryFn: () => api.countRuns(), refetchInterval: calmMs, select: ({ waiting }) => waiting })
  return data === 0 ? undefined : data >= most ? `${number(most)}+` : number(data)
}

export function Frame() {
  const [isOpen, { toggle, close }] = useDisclosure(false)
  const { pathname } = useLocation()
  useEffect(close, [pathname, close])
  return (
    <AppShell header={{ height: 52 }} navbar={{ width: 240, breakpoint: 'sm', collapsed: { desktop: true, mobile: !isOpen } }} padding={{ base: 'sm', sm: 'md' }} transitionDuration={0}>
      <a className="skip" href="#main">To the content</a>
      <AppShell.Header px="md">
        <Group h="100%" justify="space-between" wrap="nowrap">
          <Group gap="md" wrap="nowrap">
            <Burger opened={isOpen} onClick={toggle} hiddenFrom="sm" size="sm" aria-label={isOpen ? 'Close the menu' : 'Open the menu'} />
            <Link to="/" className="nav-link"><img src={`${base}/static/icon.svg`} width={22} height={22} alt="" /><b>Pawl</b></Link>
            <Group component="nav" aria-label="Pages" gap={2} visibleFrom="sm" wrap="nowrap"><Links /></Group>
          </Group>
          <Group gap="xs" wrap="nowrap"><ColorScheme /><Who /></Group>
        </Group>
      </AppShell.Header>
      {isOpen && <AppShell.Navbar p="sm" hiddenFrom="sm"><Stack component="nav" aria-label="Pages" gap={4}><Links /></Stack></AppShell.Navbar>}
      <AppShell.Main id="main" tabIndex={-1}>
        <Offline />
        <Outlet />
      </AppShell.Main>
      <Shortcuts />
    </AppShell>
  )
}

function Links() {
  const waiting = useWaiting()
  return (
    <>
      <NavLink to="/" end className="nav-link">Runs</NavLink>
      <NavLink to="/inbox" className="nav-link">Inbox{waiting !== undefined && <Badge size="sm" color="orange" variant="filled" autoContrast aria-label={`${waiting} waiting`}>{waiting}</Badge>}</NavLink>
      <NavLink to="/fleet" className="nav-link">Fleet</NavLink>
      <NavLink to="/tools" className="nav-link">Tools</NavLink>
      <a href={`${base}/queues/`} className="nav-link">Queues</a>
    </>
  )
}

/** A form of its own: the session ends on the server, whatever the pages' code does. */
function Who() {
  const { user, role, csrf } = useSession()
  return (
    <Group component="form" gap="xs" wrap="nowrap" {...{ method: 'post', action: `${base}/logout` }}>
      <Text size="sm" visibleFrom="xs">{user} <Text span c="dimmed" size="sm">{role}</Text></Text>
      <input type="hidden" name="csrf" value={csrf} />
      <UnstyledButton type="submit" className="nav-link">Log out</UnstyledButton>
    </Group>
  )
}

function Offline() {
  if (useReachable()) return null
  return <Box pos="sticky" top={60} mb="sm" role="status" style={{ zIndex: 50 }}><Alert color="orange" p="xs">Out of reach: what you see is from before. Trying again…</Alert></Box>
}
