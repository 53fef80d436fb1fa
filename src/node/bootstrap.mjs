#!/usr/bin/env node
/**
 * The command `settee`, and `npm start`. In a clone it first installs and builds what is missing. Then it runs the built
 * command line in this same process, so that signals and the exit code need not be passed on.
 */
import { pathToFileURL } from 'node:url';
import { build, builtMain, checkNode, install, isClone, PreparationError } from './prepare.mjs';

try {
  checkNode();
  if (isClone()) {
    install();
    build();
  }
  const { main } = await import(pathToFileURL(builtMain).href);
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof PreparationError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
