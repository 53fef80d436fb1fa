#!/usr/bin/env node
/** The command `create-settee`, which `npm create settee@latest` runs. */
import { createInterface } from 'node:readline/promises';
import { run } from './run.mjs';

const terminal = process.stdin.isTTY
  ? createInterface({ input: process.stdin, output: process.stdout }).on('close', () => terminal.closing.abort())
  : undefined;
// Ctrl-C and Ctrl-D at a question end the command.
if (terminal) terminal.closing = new AbortController();

process.exitCode = await run({
  given: process.argv.slice(2),
  folder: process.cwd(),
  ask: terminal && ((question) => terminal.question(question, { signal: terminal.closing.signal })),
  print: (text) => process.stdout.write(`${text}\n`),
  printError: (text) => process.stderr.write(`${text}\n`),
});
terminal?.close();
