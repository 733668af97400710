import { html } from 'hono/html'
import { barePage, type Html } from './bare-page.ts'

export interface LoginPage {
  readonly base: string
  readonly token: string
  readonly next: string
  readonly message: string | undefined
  readonly hasUsers: boolean
}

export function loginPage({ base, token, next, message, hasUsers }: LoginPage): Html {
  const fields = hasUsers
    ? html`<label>Name<input name="name" autocomplete="username" autocapitalize="none" required autofocus></label>
      <label>Password<input name="password" type="password" autocomplete="current-password" required></label>
      <button class="main">Log in</button>`
    : html`<p>This dashboard has no users. The way in is the one-time link in the terminal it runs in.</p>
      <button class="main">Print a new link in the terminal</button>
      <p class="quiet">To log in with a name instead, set <code>PAWL_DASHBOARD_USERS</code>.</p>`
  return barePage(base, 'Log in', html`<main class="login">
    <h1><span class="mark" aria-hidden="true"></span>Pawl</h1>
    ${message === undefined ? '' : html`<p class="notice" role="status">${message}</p>`}
    <form method="post" action="${base}/login">
      <input type="hidden" name="csrf" value="${token}"><input type="hidden" name="next" value="${next}">
      ${fields}
    </form>
  </main>`)
}
