import { Anchor, Text } from '@mantine/core'
import { Link } from 'react-router'
import { Page } from '../ui/page.tsx'

export function NotFound() {
  return <Page title="There is no such page"><Text>Begin at <Anchor component={Link} to="/">the runs</Anchor>.</Text></Page>
}
