import { test } from 'vitest';
import { buildAndServe, followRecipe, openAndUse } from './recipe.ts';

test('the app without a build keeps its notes and works offline', async () => {
  const { reader, lastCommand } = await followRecipe('cdn');
  const address = await buildAndServe(reader, lastCommand, '--listen 0');
  await openAndUse(address, () => reader.stop());
});
