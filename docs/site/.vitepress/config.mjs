/** How VitePress makes the site from the Markdown files of the repository; `npm run docs` and `npm run docs:build` start it. */
import { join } from 'node:path';
import { defineConfig } from 'vitepress';
import { slugOf } from '../build/anchors.mjs';
import { addFiles, servedFiles, vueOfTheSite } from '../build/files.mjs';
import { frontPage } from '../build/front-page.mjs';
import { checkLinks } from '../build/link-check.mjs';
import { links } from '../build/links.mjs';
import { otherMarkdown, pages, readPage, repository, sidebar } from '../build/pages.mjs';
import { pictures } from '../build/pictures.mjs';
import { HEAD_SCRIPT, makeRelocatable, PLACEHOLDER } from '../build/relocatable.mjs';
import { runnable } from '../build/runnable.mjs';
import { addTexts } from '../build/texts.mjs';

/** Addresses of files of the repository that pages link to and that are no pages. */
const linkedFiles = new Set();

const base = process.argv.includes('build') ? PLACEHOLDER : '/';
// The index for the search is made without `realPath`.
const sourceOf = (env) => (env.realPath ?? env.path).slice(repository.length).replaceAll('\\', '/');

export default defineConfig({
  title: 'Settee',
  description: 'A document database that runs where your app runs: in the browser, and in Node',
  lang: 'en',
  srcDir: '../../',
  outDir: '../../dist/site',
  base,
  rewrites: pages,
  srcExclude: otherMarkdown(),
  head: [
    ['link', { rel: 'icon', href: `${base}icon.svg`, type: 'image/svg+xml' }],
    ['script', {}, HEAD_SCRIPT],
  ],
  markdown: {
    anchor: { slugify: slugOf },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config(markdown) {
      pictures(markdown);
      links(markdown, { base, sourceOf, onFile: (address) => linkedFiles.add(address) });
      codeIsNoTemplate(markdown);
      emptyCellsAreNoHeaders(markdown);
      runnable(markdown, { sourceOf });
    },
  },
  themeConfig: {
    logo: { src: '/icon.svg', alt: '' },
    nav: [
      { text: 'Tutorial', link: '/tutorial.html' },
      { text: 'In a web app', link: '/browser.html' },
      { text: 'HTTP', link: '/http/' },
      { text: 'Compare', link: '/compare.html' },
    ],
    sidebar: sidebar(),
    outline: [2, 3],
    search: { provider: 'local', options: { miniSearch: { searchOptions: { boost: { title: 4 } } } } },
    docFooter: { prev: 'Before', next: 'Next' },
  },
  // Pictures are served as they are.
  vue: { template: { transformAssetUrls: false } },
  buildEnd({ outDir }) {
    addFiles(outDir, linkedFiles);
    addTexts(outDir);
    makeRelocatable(outDir);
    checkLinks(outDir);
  },
  vite: {
    configFile: false,
    publicDir: false,
    cacheDir: join(repository, 'docs/site/node_modules/.vite'),
    plugins: [vueOfTheSite(), frontPage(readPage), servedFiles()],
    build: { chunkSizeWarningLimit: 4000 },
    // The server for writing would look for packages in each page of the repository's tests.
    optimizeDeps: { entries: [] },
    server: { fs: { allow: [repository] } },
  },
});

/** Vue would evaluate what stands in braces, as it does in templates. */
function codeIsNoTemplate(markdown) {
  const render = markdown.renderer.rules.code_inline;
  markdown.renderer.rules.code_inline = (tokens, index, ...rest) => {
    tokens[index].attrSet('v-pre', '');
    return render(tokens, index, ...rest);
  };
}

/** A header without a text names nothing, which readers with a screen reader would be told. */
function emptyCellsAreNoHeaders(markdown) {
  markdown.core.ruler.push('empty-headers', ({ tokens }) => {
    for (const [index, token] of tokens.entries()) {
      if (token.type !== 'th_open' || tokens[index + 1].content !== '') continue;
      token.tag = 'td';
      tokens[index + 2].tag = 'td';
    }
  });
}
