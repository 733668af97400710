/** Vite puts them into the build; to the types they are nothing. */
declare module '*.css'
