/**
 * A site that works below any path. VitePress builds it for one path, a placeholder. This replaces it: in attributes by a relative
 * path, in style sheets too, and in scripts by an expression for where the page was loaded from.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, extname, join, relative, sep } from 'node:path';
import { parseAst } from 'vite';

export const PLACEHOLDER = '/settee-site-base/';
const VARIABLE = 'globalThis.setteeSite';

/** Runs first in each page. The placeholder becomes the relative path to the site's root. */
export const HEAD_SCRIPT = `${VARIABLE}=new URL("${PLACEHOLDER}",location.href).pathname`;

/** Runs before the scripts of VitePress, which expects whole paths: links stay right when it goes to another page without loading it. */
const TAIL_SCRIPT =
  'for(const e of document.querySelectorAll("[rel=icon],#app [href]"))' +
  '{const h=e.getAttribute("href");if(!/^(#|[a-z]+:)/i.test(h))e.setAttribute("href",new URL(h,location.href).href.slice(location.origin.length))}';

/** VitePress writes it for icons, of which there are none, and pages would wait for it. */
const EMPTY_STYLES = `<link rel="preload stylesheet" href="${PLACEHOLDER}vp-icons.css" as="style">`;

/** Changes all files of a built site. */
export function makeRelocatable(folder) {
  for (const name of readdirSync(folder, { recursive: true })) {
    const change = changes[extname(name)];
    if (change === undefined) continue;
    const file = join(folder, name);
    const text = readFileSync(file, 'utf8');
    const up = relative(dirname(file), folder).split(sep).join('/');
    const changed = change(text, up === '' ? './' : `${up}/`);
    if (changed.includes(PLACEHOLDER)) throw new Error(`${name} still has the path that VitePress built it for`);
    if (changed !== text) writeFileSync(file, changed);
  }
}

const changes = { '.html': changePage, '.js': changeScript, '.css': (text, up) => text.replaceAll(PLACEHOLDER, up) };

function changePage(text, up) {
  return (
    text
      .replace(EMPTY_STYLES, '')
      // What VitePress does only when its scripts run: then the bar at the top would move.
      .replace('class="VPNavBar"', 'class="VPNavBar has-sidebar top"')
      .replace(`new URL("${PLACEHOLDER}"`, `new URL("${up}"`)
      .replace(
        /(<script>)((?:(?!<\/script>).)*)(<\/script>)/gs,
        (_, open, script, close) => open + changeScript(script) + close,
      )
      .replaceAll(PLACEHOLDER, up)
      .replace('</body>', `<script>${TAIL_SCRIPT}</script></body>`)
  );
}

/** In a string, the placeholder ends the string, and the expression follows. */
function changeScript(text) {
  if (!text.includes(PLACEHOLDER)) return text;
  const found = [];
  collect(parseAst(text), found);
  let changed = text;
  for (const { start, end, type } of found.sort((one, other) => other.start - one.start)) {
    const source = text.slice(start, end);
    changed =
      changed.slice(0, start) +
      (type === 'Literal' ? split(source) : source.replaceAll(PLACEHOLDER, `\${${VARIABLE}}`)) +
      changed.slice(end);
  }
  return changed;
}

function split(source) {
  const quote = source[0];
  return `(${source.replaceAll(PLACEHOLDER, `${quote}+${VARIABLE}+${quote}`)})`;
}

function collect(node, found) {
  if (typeof node !== 'object' || node === null) return;
  const text = node.type === 'TemplateElement' ? node.value.raw : node.type === 'Literal' ? node.value : undefined;
  if (typeof text === 'string' && text.includes(PLACEHOLDER)) found.push(node);
  // Arrays, too.
  else for (const child of Object.values(node)) collect(child, found);
}
