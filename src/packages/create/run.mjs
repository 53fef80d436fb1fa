/** What the command does, apart from the terminal. */
import { readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { checkName, checkTarget, RefusalError } from './checks.mjs';
import { DEFAULTS, FRAMEWORKS } from './frameworks.mjs';
import { makeApp } from './make-app.mjs';
import { HELP, readOptions } from './options.mjs';
import { completeChoices } from './questions.mjs';

/**
 * Makes an app as the arguments and the answers say. `folder` is the current one; without `ask`, no one can answer. Resolves to the exit code: 0,
 * or 1 after a message that says why nothing was made.
 */
export async function run({ given, folder, ask, print, printError }) {
  try {
    const options = readOptions(given);
    if (options.help) print(HELP);
    else if (options.version) print(ownVersion());
    else await create(options, { folder, ask, print });
    return 0;
  } catch (error) {
    if (!(error instanceof RefusalError)) throw error;
    printError(error.message);
    return 1;
  }
}

async function create(options, { folder, ask, print }) {
  // Before the questions: no one answers them in vain.
  if (options.target !== undefined) check(folder, options.target);
  const choices = await completeChoices(options, options.yes ? undefined : ask, (target) => check(folder, target));
  const { target, name } = check(folder, choices.target ?? DEFAULTS.target);
  makeApp(target, { ...choices, name, version: ownVersion() });
  print(nextSteps(relative(folder, target), choices));
}

function check(folder, text) {
  const target = resolve(folder, text);
  const name = checkName(target);
  checkTarget(target);
  return { target, name };
}

function nextSteps(path, { framework, server }) {
  const where = path === '' ? [] : [`  cd ${/\s/.test(path) ? `"${path}"` : path}`];
  const serverSteps = server
    ? ['  npm run server           in a second terminal, then npm run server:admin in a third']
    : [];
  return [
    `The app is made: ${framework === 'none' ? 'no framework' : FRAMEWORKS[framework].title}${server ? ', with a server' : ''}. Next:`,
    '',
    ...where,
    '  npm install',
    '  npm run dev',
    ...serverSteps,
    '',
    'README.md in its folder says what is there, and how to go on.',
  ].join('\n');
}

function ownVersion() {
  return JSON.parse(readFileSync(join(import.meta.dirname, 'package.json'), 'utf8')).version;
}
