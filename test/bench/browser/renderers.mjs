/** The memory of the processes of a browser that run pages and workers. Only Linux tells. */
import { readdirSync, readFileSync } from 'node:fs';

const EVERY_MS = 50;

/**
 * Looks at them until `stop`, which gives by how many megabytes the one grew that grew most: where a page and its workers are all of one
 * site, that is the process in which they all are.
 */
export function watchRenderers(browser) {
  const first = new Map();
  const growth = new Map();
  const look = () => {
    for (const id of renderersOf(browser)) {
      const megabytes = memoryOf(id);
      if (megabytes === undefined) continue;
      if (!first.has(id)) first.set(id, megabytes);
      growth.set(id, Math.max(growth.get(id) ?? 0, megabytes - first.get(id)));
    }
  };
  look();
  const timer = setInterval(look, EVERY_MS);
  return {
    stop() {
      clearInterval(timer);
      look();
      return Math.max(...growth.values());
    },
  };
}

/** What is of no file: heaps, buffers, and what is shared with other processes of the browser. */
function memoryOf(id) {
  const status = read(`/proc/${id}/status`);
  if (status === undefined) return undefined;
  const kilobytes = (name) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0);
  return (kilobytes('RssAnon') + kilobytes('RssShmem')) / 1024;
}

function renderersOf(browser) {
  const parents = new Map();
  for (const name of readdirSync('/proc')) {
    const stat = /^\d+$/.test(name) ? read(`/proc/${name}/stat`) : undefined;
    // Behind the name, which stands in parentheses: state and parent.
    if (stat !== undefined) parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
  }
  const isBelow = (id) => id === browser || (parents.has(id) && isBelow(parents.get(id)));
  return [...parents.keys()].filter((id) => isBelow(id) && read(`/proc/${id}/cmdline`)?.includes('--type=renderer'));
}

function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
