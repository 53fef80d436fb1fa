/** Blocks of code that the reader runs in the page: which they are, and how they stand in it. */
import { transformSync } from 'esbuild';
import { toCode } from './curl.mjs';
import { interfacePages, readPage } from './pages.mjs';
import { exportsOf, importsOf, namesFromFiles, toRunnable } from './script.mjs';

/** Where the database of a page answers, as far as its code knows. */
const BASE = '/db/';
/** What a page can import without being built. */
const MODULES = ['settee', 'settee/database', 'settee/transfer'];
/** What a block can't do in a page of this site: change it, ask servers, register a service worker, load other packages. */
const ELSEWHERE = /\b(window|self)\b|serviceWorker: '|\bawait import\(|https?:(?!\/\/db\.invalid\/)/;
/** What a block can do only if it has a page of its own, as an app has. */
const OF_AN_APP = /\b(document|addEventListener)\b/;
/** What bundlers put in. */
const DEFINED = { 'import.meta.env.DEV': 'false', 'process.env.NODE_ENV': '"production"' };

/**
 * The blocks of a page, with the code that runs; `run` is undefined for a block that only stands there. The commands of the tutorial and of
 * the interface are run as `fetch`, JavaScript and TypeScript wherever they need nothing but Settee. The script of an app, which starts Settee
 * and changes the document, runs in a frame with the app's page: `run.html`.
 */
export function blocksOf(path, markdown = readPage(path)) {
  const missing = new Set();
  const [, html] = /^```html\n(.*?)^```$/ms.exec(markdown) ?? [];
  const files = [];
  return [...markdown.matchAll(/^```(console|js|ts)\n(.*?)^```$/gms)].map(([, language, source]) => {
    if (language !== 'console') return { source, language, run: runOfScript(source, language, html, files) };
    const code = commandsOf(path, source, missing);
    return { source, language, code, run: code === undefined ? undefined : toRunnable(code) };
  });
}

function commandsOf(path, source, missing) {
  return path === 'docs/tutorial.md' || path.startsWith('docs/http/') ? toCode(source, BASE, missing) : undefined;
}

/** `files` gathers the code of a page's blocks, for the blocks that import from them. */
function runOfScript(source, language, html, files) {
  const names = importsOf(source);
  const ofFiles = names.filter((name) => name.startsWith('./'));
  if (!names.every((name) => MODULES.includes(name) || ofFiles.includes(name)) || ELSEWHERE.test(source)) return;
  const isApp = html !== undefined && names.includes('settee') && /\bdocument\b/.test(source);
  if (!isApp && OF_AN_APP.test(source)) return;
  const own = toScript(source, language);
  const needed = namesFromFiles(own).map((name) => files.find((file) => exportsOf(file).includes(name)));
  if (needed.includes(undefined)) return;
  const code = [...new Set(needed), own].join('\n');
  files.push(code);
  if (!/\bawait\b/.test(source)) return;
  return { ...toRunnable(code), ...(isApp && { html: toFrame(html) }) };
}

/** JavaScript, as a bundler would make it. */
function toScript(code, language) {
  const tsconfigRaw = { compilerOptions: { verbatimModuleSyntax: true } };
  return transformSync(code, { loader: language, target: 'esnext', tsconfigRaw, define: DEFINED }).code;
}

/** The page of an app without its scripts, of which those that run do so outside of the frame. */
function toFrame(html) {
  return html
    .replace(/<script\b.*?<\/script>\n?|<meta http-equiv.*?>\n?/gs, '')
    .replace(/^<!doctype html>/, '$&<html lang="en"><style>body { font: 16px sans-serif }</style>');
}

/** The pages of the interface are gone through on one server, one after the other: what each needs is done by those before it. */
export function interfaceBlocks() {
  return interfacePages().map((path) => ({
    path,
    blocks: blocksOf(path).flatMap(({ run }) => (run === undefined ? [] : [run])),
  }));
}

/** A plugin of markdown-it: adds what runs a block below it, and for commands the same in `fetch`. */
export function runnable(markdown, { sourceOf }) {
  const renderFence = markdown.renderer.rules.fence;
  markdown.renderer.rules.fence = (tokens, index, options, env, self) => {
    const token = tokens[index];
    const render = (one) => renderFence([one], 0, options, env, self);
    // Not in the index for the search.
    if (env.realPath === undefined || !/^(console|js|ts)$/.test(token.info)) return render(token);
    const path = sourceOf(env);
    env.runnable ??= blocksOf(path, env.content ?? readPage(path)).filter(({ run }) => run !== undefined);
    const number = env.runnable.findIndex(({ source, isShown }) => source === token.content && !isShown);
    if (number < 0) return render(token);
    const block = env.runnable[number];
    block.isShown = true;
    const shown = render(token);
    if (token.info !== 'console') return wrap(block, [shown]);
    const inFetch = Object.assign(Object.create(Object.getPrototypeOf(token)), token, {
      info: 'js',
      content: `${block.code}\n`,
    });
    return wrap(block, [shown, render(inFetch)]);
  };
}

function wrap({ run }, panels) {
  const tabs = ['curl', 'fetch'].map(
    (name, index) =>
      `<button type="button" class="runnable-tab" data-tab="${index}" aria-pressed="${index === 0}">${name}</button>`,
  );
  const panel = (html, index) => `<div class="runnable-panel"${index === 0 ? '' : ' hidden'}>${html}</div>`;
  return [
    `<div class="runnable" v-pre data-code="${escapeAttribute(JSON.stringify(run))}">`,
    panels.length > 1
      ? `<div class="runnable-tabs" role="group" aria-label="The same request by">${tabs.join('')}</div>`
      : '',
    ...panels.map(panel),
    '<div class="runnable-bar"><button type="button" class="runnable-run">Run</button>',
    '<button type="button" class="runnable-empty" hidden>Empty</button><span class="runnable-state" role="status"></span></div>',
    '<div class="runnable-answer" role="group" aria-label="Answer" tabindex="0" hidden></div></div>\n',
  ].join('');
}

function escapeAttribute(text) {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('\n', '&#10;');
}
