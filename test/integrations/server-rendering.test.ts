import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, database } from '../../src/packages/database-client/index.ts';
import { buildForServer } from './built-apps.ts';

type Renderers = Readonly<Record<string, (notes: Database<{ text: string }>) => string | Promise<string>>>;

let built: Awaited<ReturnType<typeof buildForServer>> | undefined;
let renderers: Renderers = {};

beforeAll(async () => {
  built = await buildForServer('rendered.ts');
  renderers = (await built.load()).renderers as Renderers;
}, 300_000);

afterAll(() => built?.remove());

test.each(['react', 'vue', 'svelte', 'solid'])(
  '%s renders on a server what is loading, and requests nothing',
  async (name) => {
    const asked: string[] = [];
    const notes = database<{ text: string }>(async (address) => {
      asked.push(address);
      return Response.json({});
    }, 'http://localhost/db/notes');
    const text = await renderers[name]?.(notes);
    expect(text?.replace(/<[^>]*>/g, '')).toBe('loading 0 loading');
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(asked).toEqual([]);
  },
);
