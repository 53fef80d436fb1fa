import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { build, type InlineConfig } from 'vite';

const repository = join(import.meta.dirname, '../..');

/** An app in a folder of its own, in which `settee` and some of the packages of this repository are installed, that Vite builds as it builds any. */
export interface AppFolder {
  readonly path: string;
  /** Below it lies the last build. */
  readonly outDir: string;
  write(name: string, text: string): void;
  build(config: InlineConfig): Promise<void>;
  remove(): void;
}

export function createApp(files: Readonly<Record<string, string>>, packages: readonly string[] = []): AppFolder {
  const path = mkdtempSync(join(tmpdir(), 'settee-app-'));
  const outDir = join(path, 'dist');
  const write = (name: string, text: string) => {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), text);
  };
  write('package.json', '{"type": "module"}');
  mkdirSync(join(path, 'node_modules'));
  symlinkSync(repository, join(path, 'node_modules/settee'), 'junction');
  for (const name of packages) {
    symlinkSync(join(repository, 'node_modules', name), join(path, 'node_modules', name), 'junction');
  }
  for (const [name, text] of Object.entries(files)) write(name, text);
  return {
    path,
    outDir,
    write,
    build: async (config) => {
      const target = { target: 'es2022', outDir, emptyOutDir: true };
      await build({
        configFile: false,
        root: path,
        logLevel: 'warn',
        ...config,
        build: { ...target, ...config.build },
      });
    },
    remove: () => rmSync(path, { recursive: true }),
  };
}
