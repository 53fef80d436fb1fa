/** The frameworks that can be chosen: what an app with each needs. */

export const DEFAULTS = { target: 'my-app', framework: 'none', server: false };

/** Packages of every app. TypeScript 6, since what checks Vue's and Svelte's files does not work with 7. */
export const TOOLS = { msw: '^2.15.0', typescript: '^6.0.3', vite: '^8.3.8', vitest: '^4.1.12' };

/**
 * - `check`: the command that checks types
 * - `plugin`: what the configuration of Vite imports and calls
 * - `compilerOptions`: of `tsconfig.json`, besides those of every app
 * - `entry`: the file that the page loads
 */
export const FRAMEWORKS = {
  none: { title: 'None', check: 'tsc', dependencies: {}, devDependencies: {}, compilerOptions: {}, entry: 'main.ts' },
  react: {
    title: 'React',
    check: 'tsc',
    plugin: { import: "import react from '@vitejs/plugin-react';", call: 'react()' },
    dependencies: { react: '^19.3.1', 'react-dom': '^19.3.1' },
    devDependencies: { '@types/react': '^19.3.3', '@types/react-dom': '^19.3.0', '@vitejs/plugin-react': '^6.3.0' },
    compilerOptions: { jsx: 'react-jsx' },
    entry: 'main.tsx',
  },
  vue: {
    title: 'Vue',
    check: 'vue-tsc',
    plugin: { import: "import vue from '@vitejs/plugin-vue';", call: 'vue()' },
    dependencies: { vue: '^3.5.45' },
    devDependencies: { '@vitejs/plugin-vue': '^6.0.11', 'vue-tsc': '^3.3.14' },
    compilerOptions: {},
    entry: 'main.ts',
  },
  svelte: {
    title: 'Svelte',
    check: 'svelte-check',
    plugin: { import: "import { svelte } from '@sveltejs/vite-plugin-svelte';", call: 'svelte()' },
    dependencies: { svelte: '^5.57.3' },
    devDependencies: { '@sveltejs/vite-plugin-svelte': '^7.3.1', 'svelte-check': '^4.7.8' },
    compilerOptions: {},
    entry: 'main.ts',
  },
  solid: {
    title: 'Solid',
    check: 'tsc',
    plugin: { import: "import solid from 'vite-plugin-solid';", call: 'solid()' },
    dependencies: { 'solid-js': '^1.9.20' },
    devDependencies: { 'vite-plugin-solid': '^2.11.14' },
    compilerOptions: { jsx: 'preserve', jsxImportSource: 'solid-js' },
    entry: 'main.tsx',
  },
};
