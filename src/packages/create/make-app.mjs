/** Writes the files of an app: templates that every app has, and those of its framework and of its server. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { packageJson, tsConfig, viteConfig } from './configuration.mjs';
import { FRAMEWORKS } from './frameworks.mjs';

const templates = join(import.meta.dirname, 'templates');
/** The others are copied as they are. */
const HAS_PLACEHOLDERS = /\.(md|html|webmanifest|tsx?|vue|svelte)$/;
/** npm leaves a file with the real name out of a package. */
const RENAMED = { _gitignore: '.gitignore' };

/** Never overwrites a file: the folder is empty or absent. */
export function makeApp(target, choices) {
  for (const [name, content] of filesOf(choices)) {
    const file = join(target, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content, { flag: 'wx' });
  }
}

/** By name, with slashes. Of files with the same name in several templates, README.md is joined; others don't occur. */
export function filesOf(choices) {
  const { framework, server } = choices;
  const kind = server ? 'server' : 'local';
  const files = new Map();
  for (const folder of ['common', kind, `${framework}/common`, `${framework}/${kind}`]) {
    for (const [name, content] of readTemplate(folder, valuesOf(choices))) {
      files.set(name, files.has(name) ? `${files.get(name)}\n${content}` : content);
    }
  }
  files.set('package.json', packageJson(choices));
  files.set('tsconfig.json', tsConfig(choices));
  files.set('vite.config.ts', viteConfig(choices));
  return files;
}

function valuesOf({ name, framework }) {
  const words = name.split(/[._-]+/).filter((word) => word !== '');
  const title = words.map((word) => word[0].toUpperCase() + word.slice(1)).join(' ');
  const { title: frameworkTitle, entry } = FRAMEWORKS[framework];
  return { name, title, entry, framework: framework === 'none' ? 'no framework' : frameworkTitle };
}

function readTemplate(folder, values) {
  const root = join(templates, folder);
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => {
      const file = join(entry.parentPath, entry.name);
      const name = relative(root, file).replaceAll('\\', '/');
      const content = HAS_PLACEHOLDERS.test(name) ? filled(readFileSync(file, 'utf8'), values) : readFileSync(file);
      return [RENAMED[name] ?? name, content];
    });
}

/** `{{name}}` stands for a value. */
function filled(text, values) {
  return text.replace(/\{\{(\w+)\}\}/g, (placeholder, name) => values[name] ?? placeholder);
}
