import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBuilder } from 'vite';
import { must } from '../../src/base/shared/assert.ts';

const root = join(import.meta.dirname, '../..');

/** Builds the files for browsers as those of a later version would be, whose protocol has the next number. Gives their folder. */
export async function buildNewerFiles(): Promise<string> {
  const outDir = await mkdtemp(join(tmpdir(), 'settee-newer-'));
  const nextProtocol = {
    name: 'next-protocol',
    transform: (code: string, id: string) =>
      id.endsWith('/bridge/wire.ts')
        ? code.replace(/(export const PROTOCOL = )(\d+)/, (_, before, number) => before + (Number(number) + 1))
        : undefined,
  };
  const builder = await createBuilder({
    root,
    configFile: join(root, 'vite.config.ts'),
    logLevel: 'error',
    plugins: [nextProtocol],
    build: { outDir },
  });
  for (const name of ['client', 'worker', 'serviceWorker', 'serviceWorkerCore'])
    await builder.build(must(builder.environments[name], name));
  return join(outDir, 'browser');
}
