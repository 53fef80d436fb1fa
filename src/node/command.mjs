#!/usr/bin/env node
/** The command `settee` of the package `settee-server`. The build puts it beside what it runs. */
import { checkNode, PreparationError } from './check-node.mjs';

try {
  checkNode();
  const { main } = await import('./main.js');
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof PreparationError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
