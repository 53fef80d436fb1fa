/**
 * What a V8 CPU profile of the built server says: where the time went, by function and by source file, with the places
 * in the sources instead of those in the build.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SHOWN = 30;

/** A text about every profile in a folder, of servers that were built as `build`. */
export function describeProfiles(folder, build) {
  const map = new SourceMap(JSON.parse(readFileSync(`${build}.map`, 'utf8')));
  return readdirSync(folder)
    .filter((name) => name.endsWith('.cpuprofile'))
    .map((name) => describe(JSON.parse(readFileSync(join(folder, name), 'utf8')), { build, map }))
    .join('\n');
}

function describe(profile, source) {
  const selfTimes = selfTimeByNode(profile);
  const byFunction = new Map();
  const byFile = new Map();
  let total = 0;
  const add = (sums, key, time) => sums.set(key, (sums.get(key) ?? 0) + time);
  for (const { id, callFrame } of profile.nodes) {
    if (callFrame.functionName === '(idle)') continue;
    const time = selfTimes.get(id) ?? 0;
    const { name, file, line } = placeOf(callFrame, source);
    total += time;
    add(byFunction, line === undefined ? name : `${name}  ${file}:${line}`, time);
    add(byFile, file ?? name, time);
  }
  return [
    `Busy for ${(total / 1_000).toFixed(0)} ms; self time by function:`,
    ...toLines(byFunction, total),
    'Self time by file:',
    ...toLines(byFile, total),
    '',
  ].join('\n');
}

function toLines(sums, total) {
  return [...sums]
    .sort(([, left], [, right]) => right - left)
    .slice(0, SHOWN)
    .map(
      ([key, time]) =>
        `${((100 * time) / total).toFixed(1).padStart(5)} %  ${(time / 1_000).toFixed(0).padStart(6)} ms  ${key}`,
    );
}

function selfTimeByNode({ samples, timeDeltas }) {
  const times = new Map();
  samples.forEach((node, index) => {
    times.set(node, (times.get(node) ?? 0) + timeDeltas[index]);
  });
  return times;
}

function placeOf({ functionName, url, lineNumber, columnNumber }, { build, map }) {
  const name = functionName || '(anonymous)';
  if (url === '') return { name };
  if (!url.startsWith('file:') || fileURLToPath(url) !== build) {
    return { name, file: url.replace(/^.*node_modules\//, ''), line: lineNumber + 1 };
  }
  const { originalSource, originalLine } = map.findEntry(lineNumber, columnNumber);
  if (originalSource === undefined) return { name, file: 'main.js', line: lineNumber + 1 };
  return { name, file: originalSource.replace(/^(\.\.\/)+/, ''), line: originalLine + 1 };
}
