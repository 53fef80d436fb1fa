import { expect, test } from 'vitest';
import { buildAndServe, followRecipe, openAndUse, tryInDevelopment } from './recipe.ts';

test('the app of next keeps its notes and works offline', async () => {
  const { reader, lastCommand } = await followRecipe('next');
  await tryInDevelopment(reader, 'npx next dev');
  const address = await buildAndServe(reader, lastCommand);
  // What is rendered on the server has nothing of the database.
  expect(await (await fetch(address)).text()).toContain('…');
  await openAndUse(address, () => reader.stop());
});

test('the app of sveltekit keeps its notes and works offline', async () => {
  const { reader, lastCommand } = await followRecipe('sveltekit', { node: 24 });
  await tryInDevelopment(reader, 'npx vite');
  const address = await buildAndServe(reader, lastCommand);
  await openAndUse(address, () => reader.stop());
});
