import { build, minifySync, type Plugin } from 'vite';

const ID = 'virtual:sandbox-program';
const RESOLVED_ID = `\0${ID}`;
/** The function that the program's modules export. */
const EXPORT = 'createProgram';

/**
 * Provides `virtual:sandbox-program`, whose `SANDBOX_PROGRAM` is the text of an expression: the function `createProgram` of the entry, with all
 * modules that it imports, without types, comments and white space. Names stay, since functions of documents see some of them.
 * `SANDBOX_PROGRAM_HASH` identifies the text.
 *
 * QuickJS has no modules, so the program must be one text; and the host's bundler must not mix it with the host's code.
 */
export function sandboxProgram(entry: string): Plugin {
  return {
    name: 'sandbox-program',
    resolveId: { filter: { id: /^virtual:sandbox-program$/ }, handler: () => RESOLVED_ID },
    load: {
      filter: { id: /^\0virtual:sandbox-program$/ },
      async handler() {
        const { code, files } = await bundle(entry);
        for (const file of files) this.addWatchFile(file);
        const program = minified(code);
        const hash = await hashOf(program);
        return `export const SANDBOX_PROGRAM = ${JSON.stringify(program)};\nexport const SANDBOX_PROGRAM_HASH = '${hash}';`;
      },
    },
  };
}

async function hashOf(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest).subarray(0, 8), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

interface Bundle {
  readonly code: string;
  readonly files: readonly string[];
}

async function bundle(entry: string): Promise<Bundle> {
  const result = await build({
    configFile: false,
    logLevel: 'warn',
    build: {
      write: false,
      target: 'es2023',
      minify: false,
      modulePreload: false,
      rolldownOptions: { input: entry, preserveEntrySignatures: 'strict', output: { format: 'iife', name: 'program' } },
    },
  });
  const [chunk] = 'output' in result ? result.output : [];
  if (chunk === undefined) throw new Error(`The program for sandboxes, ${entry}, makes no file.`);
  const code = `(function () { 'use strict'; ${chunk.code}\nreturn program.${EXPORT}; })()`;
  return { code, files: chunk.moduleIds };
}

function minified(program: string): string {
  const { code, errors } = minifySync('program.js', program, { compress: false, mangle: false });
  if (errors.length > 0) throw new Error(`The program for sandboxes can't be read: ${errors[0]?.message}`);
  return code.replace(/;\s*$/, '');
}
