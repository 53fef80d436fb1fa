import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { runCommand } from '../run-command.ts';
import { answers, folder, requests, url, useImportServer } from './import-server.ts';

useImportServer();

test('an import uses little memory, whatever the size of the input', async () => {
  // 200 MB of input; what is held must be a few batches of 4 MB.
  answers.bulk = (body) => {
    requests.length = 0;
    return Array.from({ length: (body.match(/"_id"/g) ?? []).length }, () => ({ ok: true }));
  };
  const line = `{"_id":"x","s":"${'y'.repeat(10_000)}"}\n`;
  const big = join(folder, 'big.jsonl.gz');
  await writeFile(big, gzipSync(line.repeat(20_000), { level: 1 }));
  let highest = 0;
  const before = process.memoryUsage().rss;
  const watch = setInterval(() => {
    highest = Math.max(highest, process.memoryUsage().rss);
  }, 20);
  const { stdout } = await runCommand(['import', url, big]);
  clearInterval(watch);
  expect(stdout).toBe(`20000 written, 0 refused (${url})\n`);
  expect(highest - before).toBeLessThan(300 * 1024 * 1024);
}, 180_000);
