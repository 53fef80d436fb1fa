/** Apps that the command of the package `create-settee` makes, with the packages as they would be published. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inject, onTestFinished } from 'vitest';
import { WalkThrough } from './walk-through.ts';

/** Somebody who has made the app `field-notes`, and installed what it needs. What is begun ends with the test. */
export async function makeStarter(options: string): Promise<WalkThrough> {
  const { settee, server, create } = inject('starterTarballs');
  const reader = new WalkThrough({ tarball: settee });
  onTestFinished(() => reader.remove());
  const command = `npm exec --yes --package=${create} -- create-settee field-notes`;
  const printed = await reader.run(`${command} ${options} --settee ${settee} --settee-server ${server}`);
  if (!printed.includes('cd field-notes')) throw new Error(printed);
  await reader.run('cd field-notes && npm install');
  return reader;
}

/** Starts the app's server at a free port, makes its admin, and has the app use it. Resolves to what stops it. */
export async function startServer(reader: WalkThrough): Promise<void> {
  const address = await reader.serve('cd field-notes && npm run server -- --port 0 --no-demo');
  const { origin } = new URL(address);
  const config = readFileSync(join(reader.folder, 'field-notes/vite.config.ts'), 'utf8');
  reader.write([['field-notes/vite.config.ts', config.replace('http://127.0.0.1:5984', origin)]]);
  const answers = String.raw`printf 'admin\ns3cret\n'`;
  await reader.run(`cd field-notes && ${answers} | SETTEE_SERVER=${origin} npm run server:admin`);
}
