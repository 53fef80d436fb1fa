import { spawnSync } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A file system in memory that holds so many mebibytes and no more. */
export class SmallDisk {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** Mounts one that belongs to a user. Returns undefined where that can't be done: it needs Linux, and root. */
  static mount(mebibytes: number, { uid, gid }: { readonly uid: number; readonly gid: number }): SmallDisk | undefined {
    if (process.platform !== 'linux' || process.getuid?.() !== 0) return undefined;
    const folder = mkdtempSync(join(tmpdir(), 'settee-small-disk-'));
    if (!run('mount', '-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', folder)) {
      rmSync(folder, { recursive: true });
      return undefined;
    }
    chownSync(folder, uid, gid);
    return new SmallDisk(folder);
  }

  resize(mebibytes: number): void {
    if (!run('mount', '-o', `remount,size=${mebibytes}m`, this.folder)) throw new Error('the disk keeps its size');
  }

  unmount(): void {
    run('umount', '--lazy', this.folder);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function run(program: string, ...words: string[]): boolean {
  return spawnSync(program, words, { stdio: 'ignore' }).status === 0;
}
