import { test } from 'vitest';
import { buildAndServe, followRecipe, openAndUse, tryInDevelopment } from './recipe.ts';

/** Apps that Vite builds: all of them are used in the same way. */
test.for(['react', 'vue', 'svelte', 'solid', 'vite-plugin-pwa'])(
  'the app of %s keeps its notes and works offline',
  async (name) => {
    const { reader, lastCommand } = await followRecipe(name);
    await tryInDevelopment(reader, 'npx vite');
    const address = await buildAndServe(reader, lastCommand);
    await openAndUse(address, () => reader.stop());
  },
);
