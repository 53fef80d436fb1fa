import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build, type InlineConfig } from 'vite';
import { sandboxProgram } from '../../src/packages/build/sandbox-program.ts';

const here = import.meta.dirname;

/**
 * Builds every page and worker of the tests into one file each, below `pages/` and `workers/` of the folder. The page
 * client is left outside: pages load the built one, `/settee.js`, as an app without a bundler does.
 */
export async function buildPages(outDir: string): Promise<void> {
  const kinds = [
    ['pages', '.page.ts'],
    ['workers', '.worker.ts'],
  ] as const;
  for (const [folder, kind] of kinds) {
    const entries = readdirSync(join(here, folder)).filter((file) => file.endsWith(kind));
    for (const entry of entries) {
      await build(
        configFor({ entry: join(here, folder, entry), name: basename(entry, kind), outDir: join(outDir, folder) }),
      );
    }
  }
}

function configFor({ entry, name, outDir }: { entry: string; name: string; outDir: string }): InlineConfig {
  return {
    configFile: false,
    logLevel: 'warn',
    plugins: [sandboxProgram(join(here, '../../src/queries/sandbox/runtime/main.ts'))],
    build: {
      outDir,
      emptyOutDir: false,
      target: 'es2022',
      minify: false,
      sourcemap: 'inline',
      lib: { entry, formats: ['es'], fileName: () => `${name}.js` },
      rolldownOptions: { external: ['settee'], output: { paths: { settee: '/settee.js' }, codeSplitting: false } },
    },
  };
}
