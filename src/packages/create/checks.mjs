/** What is refused before anything is written. */
import { lstatSync, readdirSync } from 'node:fs';
import { basename } from 'node:path';

/** A failure that the message explains to the user; any other error is a defect. */
export class RefusalError extends Error {}

const MAX_NAME_LENGTH = 100;
/** Windows has devices of these names, with any extension. */
const DEVICES = /^(con|prn|aux|nul|com\d|lpt\d)(\..*)?$/;
/** npm refuses them, or does not install a package into one of its own name. */
const RESERVED = ['node_modules', 'favicon.ico', 'settee', 'settee-server', 'vite', 'vitest', 'msw', 'typescript'];
const OF_FRAMEWORKS = [
  'react',
  'react-dom',
  'vue',
  'vue-tsc',
  'svelte',
  'svelte-check',
  'solid-js',
  'vite-plugin-solid',
];

/** Returns the name of the package, which is that of the folder. Throws a RefusalError if npm or Windows would refuse it. */
export function checkName(target) {
  const name = basename(target);
  if (name.length > MAX_NAME_LENGTH || !/^[a-z\d][a-z\d._-]*$/.test(name) || name.endsWith('.')) {
    throw new RefusalError(
      `${quoted(name)} can't be the name of an app: names have at most ${MAX_NAME_LENGTH} lower-case letters, digits, hyphens, dots and underscores, and begin with a letter or a digit. For example: my-app`,
    );
  }
  if ([...RESERVED, ...OF_FRAMEWORKS].includes(name) || DEVICES.test(name)) {
    throw new RefusalError(
      `${quoted(name)} can't be the name of an app, because something else has it. For example: my-${name.split('.', 1)[0]}`,
    );
  }
  return name;
}

/** Throws a RefusalError unless the folder is empty or absent. What Git keeps in a new clone is no content. */
export function checkTarget(target) {
  let entries;
  try {
    entries = readdirSync(target);
  } catch (error) {
    if (error.code === 'ENOENT') return checkLink(target);
    if (error.code === 'ENOTDIR') throw new RefusalError(`${target} is not a folder. Choose another name.`);
    throw new RefusalError(`${target} can't be read: ${error.message}. Choose another folder.`);
  }
  const found = entries.filter((entry) => entry !== '.git');
  if (found.length === 0) return;
  const shown = found.slice(0, 3).join(', ') + (found.length > 3 ? ', …' : '');
  throw new RefusalError(
    `${target} is not empty (${shown}), and nothing in it is overwritten. Choose another name, or empty the folder.`,
  );
}

/** A link that leads nowhere can't become a folder. */
function checkLink(target) {
  if (lstatSync(target, { throwIfNoEntry: false }) !== undefined) {
    throw new RefusalError(`${target} is a link that leads nowhere. Choose another name.`);
  }
}

function quoted(text) {
  return JSON.stringify(text);
}
