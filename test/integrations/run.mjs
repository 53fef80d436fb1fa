/** `npm run test:integrations`: builds Settee, installs what these tests use beside it, if that is not there, and runs them. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { build, install, root } from '../../src/node/prepare.mjs';

install();
build();
install(import.meta.dirname);
const vitest = join(root, 'node_modules/vitest/vitest.mjs');
const given = ['run', '--config', join(import.meta.dirname, 'vitest.config.ts'), ...process.argv.slice(2)];
process.exitCode = spawnSync(process.execPath, [vitest, ...given], { cwd: root, stdio: 'inherit' }).status ?? 1;
