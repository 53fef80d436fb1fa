/** The compiler is installed for these tests only, so the module is JavaScript, and its types are here. */
import type { Plugin } from 'vite';

/** What @sveltejs/vite-plugin-svelte does, as far as these apps need it. */
export function sveltePlugin(generate: 'client' | 'server'): Plugin;
