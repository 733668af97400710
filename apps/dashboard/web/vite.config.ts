/**
 * The pages' build. Where they are served is not known here: `PAWL_BASE` and `PAWL_NONCE` stand in the document for what the dashboard
 * writes into it per answer, and all else is relative.
 */
import react from '@vitejs/plugin-react'
import { fileURLToPath } from 'node:url'
import { defaultClientConditions, defineConfig } from 'vite'

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

// Browsers that know light-dark(): taken apart for older ones it follows the system and not the button.
export default defineConfig({
  root: here('.'),
  base: './',
  plugins: [react()],
  html: { cspNonce: 'PAWL_NONCE' },
  resolve: {
    conditions: ['@pawl/source', ...defaultClientConditions],
    alias: { 'node:crypto': here('src/no-crypto.ts') },
  },
  build: { outDir: here('../dist/web'), emptyOutDir: true, target: 'es2023', cssTarget: ['chrome123', 'firefox121', 'safari17.5'], assetsInlineLimit: 0, reportCompressedSize: false, chunkSizeWarningLimit: 900 },
})
