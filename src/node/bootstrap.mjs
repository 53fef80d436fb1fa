#!/usr/bin/env node
/**
 * The command `settee` in a clone, and `npm start`: installs and builds what is missing. Then it runs the built command line in this same
 * process, so that signals and the exit code need not be passed on. In the package `settee-server` it is `command.mjs`.
 */
import { pathToFileURL } from 'node:url';
import { build, builtMain, checkNode, install, PreparationError } from './prepare.mjs';

try {
  checkNode();
  install();
  build();
  const { main } = await import(pathToFileURL(builtMain).href);
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof PreparationError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
