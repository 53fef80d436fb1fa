/** Links between Markdown files of the repository become links between pages of the site. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';
import { addressOf, repository } from './pages.mjs';

/**
 * Where a link leads in the site, with a slash for the site's root in front; undefined for links to elsewhere and within a page.
 * Files of the repository that are not pages are below `/repository/`.
 */
export function resolveLink(link, from) {
  if (/^([a-z]+:|#|\/\/)/i.test(link)) return undefined;
  const [path, anchor] = decodeURI(link).split('#');
  const target = posix.normalize(posix.join(posix.dirname(from), path));
  const address = addressOf(target) ?? fileAddress(target);
  if (address === undefined) throw new Error(`${from}: the link to ${link} leads nowhere in the site`);
  return `/${address}${anchor === undefined ? '' : `#${anchor}`}`;
}

function fileAddress(path) {
  const whole = join(repository, path);
  if (path.startsWith('..') || !existsSync(whole) || !statSync(whole).isFile()) return undefined;
  return isPicture(path) ? path.replace(/^docs\//, '') : `repository/${path}.txt`;
}

function isPicture(path) {
  return path.startsWith('docs/pictures/');
}

/** The file that a path of the site has in the repository; for a server during development, and for the build. */
export function readFileOf(address) {
  const [, path] = /^\/repository\/(.+)\.txt$/.exec(address) ?? [];
  const source = path ?? (address.startsWith('/pictures/') ? `docs${address}` : undefined);
  if (source === undefined || fileAddress(source) !== address.slice(1)) return undefined;
  return readFileSync(join(repository, source));
}

/** A plugin of markdown-it. `onFile` gets the address of each file that is linked to and is no page. */
export function links(markdown, { base, sourceOf, onFile }) {
  const resolve = (link, from) => {
    const resolved = link === null ? undefined : resolveLink(link, from);
    if (resolved !== undefined && isFile(resolved)) onFile(resolved);
    return resolved;
  };
  // VitePress puts the base in front of other links.
  const withBase = (resolved) => `${base}${resolved.slice(1)}`;
  markdown.core.ruler.push('links-of-the-repository', ({ tokens, env }) => {
    const from = sourceOf(env);
    for (const token of tokens.flatMap((one) => [one, ...(one.children ?? [])])) {
      if (token.type === 'link_open') {
        const resolved = resolve(token.attrGet('href'), from);
        if (resolved !== undefined) token.attrSet('href', resolved);
      } else if (token.type === 'image') {
        const resolved = resolve(token.attrGet('src'), from);
        if (resolved !== undefined) token.attrSet('src', withBase(resolved));
      } else if (token.type === 'html_block' || token.type === 'html_inline') {
        token.content = token.content.replace(/\b(href|src|srcset)="([^"]+)"/g, (whole, name, link) => {
          const resolved = resolve(link, from);
          if (resolved === undefined) return whole;
          return `${name}="${withBase(resolved)}"${name === 'src' ? sizeOf(resolved, widthIn(token.content)) : ''}`;
        });
      }
    }
  });
}

function isFile(address) {
  return /^\/(repository|pictures)\//.test(address);
}

/** What an element says its width is. */
function widthIn(html) {
  const [, width] = /<img\b[^>]*? width="(\d+)"/.exec(html) ?? [];
  return width === undefined ? undefined : Number(width);
}

/** Attributes for the size at which a picture in WebP is shown, so that nothing moves when it is loaded. */
function sizeOf(address, shownWidth) {
  const bytes = readFileOf(address);
  if (bytes?.toString('latin1', 8, 12) !== 'WEBP') return '';
  const { width, height } = readSize(bytes);
  if (shownWidth === undefined) return ` width="${width}" height="${height}"`;
  return ` height="${Math.round((height * shownWidth) / width)}"`;
}

/** Of the three layouts that a file in WebP begins with. */
function readSize(bytes) {
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8X':
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
    case 'VP8L': {
      const packed = bytes.readUInt32LE(21);
      return { width: (packed & 0x3fff) + 1, height: ((packed >>> 14) & 0x3fff) + 1 };
    }
    default:
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
  }
}
