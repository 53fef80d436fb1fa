#!/usr/bin/env node
/**
 * The command `settee` of the package `settee`, which is for browsers and has no server. If `settee-server` is also installed, one of
 * the two has the name, and npm does not promise which: this one runs the other. Otherwise it says where the command is.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const SERVER = 'settee-server';

/** Returns the command of `settee-server` as that folder or file resolves it; undefined if it can't. */
function commandFrom(place) {
  try {
    const manifest = createRequire(place).resolve(`${SERVER}/package.json`);
    return join(dirname(manifest), JSON.parse(readFileSync(manifest, 'utf8')).bin.settee);
  } catch {
    return undefined;
  }
}

const command = commandFrom(join(process.cwd(), 'package.json')) ?? commandFrom(import.meta.url);
if (command === undefined) {
  process.stderr.write(
    `The command settee is in the package ${SERVER}, which is not installed here. Install it with: npm install ${SERVER}\n`,
  );
  process.exitCode = 1;
} else {
  await import(pathToFileURL(command).href);
}
