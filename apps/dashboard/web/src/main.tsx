import './zod-without-eval.ts'
import '@mantine/core/styles.css'
import '@mantine/notifications/styles.css'
import './style.css'
import './pages.css'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { styleNonce } from './place.ts'

// Libraries that lock scrolling write a style element of their own and look for its nonce here.
Object.assign(globalThis, { __webpack_nonce__: styleNonce })

const root = document.getElementById('root')
if (root === null) throw new Error('The document has no #root: it is not the one this was built with.')
createRoot(root).render(<StrictMode><App /></StrictMode>)
