/** The pages of the documentation, which the demo serves beside itself, so that they can be read where it runs. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { titleOf, toHtml } from './markdown.ts';

const root = join(import.meta.dirname, '../..');

const PICTURES = 'docs/pictures';

/** Where the pages are served, with their paths in the repository below it. */
const FOLDER = 'docs';

/** Every file of the documentation by its name in the build. */
export function documentation(): ReadonlyMap<string, string | Uint8Array> {
  const paths = pagePaths();
  const pages = paths.map((path) => [fileOf(path), pageOf(path, new Set(paths))] as const);
  // A build for `npm run pictures` may come before there are any.
  const pictures = (existsSync(join(root, PICTURES)) ? namesIn(PICTURES, '.webp') : []).map(
    (name) => [`${FOLDER}/${PICTURES}/${name}`, readFileSync(join(root, PICTURES, name))] as const,
  );
  return new Map<string, string | Uint8Array>([...pages, ...pictures, [`${FOLDER}/pages.css`, style]]);
}

function pagePaths(): readonly string[] {
  const folders = ['docs', 'docs/http', 'docs/recipes'];
  const below = folders.flatMap((folder) => namesIn(folder, '.md').map((name) => `${folder}/${name}`));
  return ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'src/README.md', ...below];
}

function namesIn(folder: string, ending: string): readonly string[] {
  const entries = readdirSync(join(root, folder), { withFileTypes: true });
  return entries.filter((entry) => entry.isFile() && entry.name.endsWith(ending)).map(({ name }) => name);
}

function fileOf(path: string): string {
  return `${FOLDER}/${path.replace(/\.md$/, '.html')}`;
}

function pageOf(path: string, known: ReadonlySet<string>): string {
  const markdown = readFileSync(join(root, path), 'utf8');
  const address = (target: string) => `/${target}`;
  const resolve = (link: string): string | undefined => {
    if (/^(https?:|#)/.test(link)) return link;
    const [target = '', anchor] = link.split('#');
    const found = posix.join(dirname(path), target);
    const suffix = anchor === undefined ? '' : `#${anchor}`;
    if (known.has(found)) return address(fileOf(found)) + suffix;
    return found.startsWith(`${PICTURES}/`) ? address(`${FOLDER}/${found}`) : undefined;
  };
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${titleOf(markdown)} · Settee</title>
<link rel="icon" href="/favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/${FOLDER}/pages.css">
</head>
<body>
<nav><a href="/">Demo</a> <a href="/${fileOf('README.md')}">Settee</a> <a href="/${fileOf('docs/README.md')}">All pages</a></nav>
<main>
${toHtml(markdown, resolve)}
</main>
</body>
</html>
`;
}

const style = `:root { color-scheme: light dark; --paper: #fbf7ef; --surface: #fffdf9; --ink: #23211c; --muted: #6b6558; --line: #e7dfcf; --accent: #0e6a62; }
@media (prefers-color-scheme: dark) { :root { --paper: #12171a; --surface: #181f23; --ink: #ece7dc; --muted: #a0a6a1; --line: #2a3338; --accent: #62cbbd; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px / 1.6 -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", Arial, sans-serif; }
nav, main { max-width: 52rem; margin: 0 auto; padding: 1rem 1.2rem; }
nav { display: flex; gap: 1.2rem; border-bottom: 1px solid var(--line); }
a { color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
h1, h2 { font-family: "Iowan Old Style", Palatino, "Book Antiqua", "Noto Serif", "Liberation Serif", Georgia, serif; line-height: 1.2; }
h2 { margin-top: 2.2em; }
img { max-width: 100%; height: auto; border: 1px solid var(--line); border-radius: 8px; }
code { font: 0.88em ui-monospace, Menlo, Consolas, "Liberation Mono", monospace; overflow-wrap: anywhere; }
pre { padding: 0.9rem 1rem; border: 1px solid var(--line); border-radius: 8px; background: var(--surface); overflow: auto; }
pre code { overflow-wrap: normal; }
.frame { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.93em; }
th, td { padding: 0.45rem 0.9rem 0.45rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { color: var(--muted); font-weight: 550; }
`;
