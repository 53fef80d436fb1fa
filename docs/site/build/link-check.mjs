/** What pages of a built site refer to has to be in it. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';

/** Throws with a list of all links that lead to no file, or to no element of the page. */
export function checkLinks(folder) {
  const names = readdirSync(folder, { recursive: true }).map((name) => name.replaceAll('\\', '/'));
  const ids = new Map(names.filter((name) => name.endsWith('.html')).map((name) => [name, idsIn(join(folder, name))]));
  const broken = [...ids.keys()].flatMap((name) =>
    linksIn(readFileSync(join(folder, name), 'utf8'))
      .filter((link) => !leadsSomewhere(link, name, folder, ids))
      .map((link) => `${name}: ${link}`),
  );
  if (broken.length > 0) throw new Error(`These links of the site lead nowhere:\n${broken.join('\n')}`);
}

function leadsSomewhere(link, from, folder, ids) {
  const [path, anchor] = decodeURI(link).split('#');
  const whole = path === '' ? from : posix.normalize(posix.join(posix.dirname(from), path));
  const file = whole.endsWith('/') || whole === '.' ? posix.join(whole, 'index.html') : whole;
  if (file.startsWith('..') || !existsSync(join(folder, file)) || !statSync(join(folder, file)).isFile()) return false;
  return anchor === undefined || anchor === '' || ids.get(file)?.has(anchor) === true;
}

function linksIn(html) {
  return [...html.matchAll(/<(?!script)[a-z][^>]*? (?:href|src|srcset)="([^"]+)"/g)]
    .map(([, link]) => link.replaceAll('&amp;', '&'))
    .filter((link) => !/^[a-z]+:/i.test(link));
}

function idsIn(file) {
  return new Set([...readFileSync(file, 'utf8').matchAll(/<[a-z][^>]*? id="([^"]+)"/g)].map(([, id]) => id));
}
