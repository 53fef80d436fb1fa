import { compile, compileModule } from 'svelte/compiler';

export function sveltePlugin(generate) {
  return {
    name: 'svelte',
    transform(code, id) {
      if (id.endsWith('.svelte')) return compile(code, { filename: id, generate }).js;
      return id.endsWith('.svelte.js') ? compileModule(code, { filename: id, generate }).js : undefined;
    },
  };
}
