import { Page } from '../../ui/page.tsx'

export function Component() {
  return <Page title="Tools">{null}</Page>
}
