import { readdirSync, readFileSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { must } from '../../base/shared/assert.ts';
import { hasCode, syncPath } from './folder.ts';

/**
 * The journal lies beside the data file in segments: files that are only appended to, each by one owner.
 * `journal-<epoch>-<first>.log` holds records of that epoch's owner; none has a number below `first`, nor one that the
 * same owner's next segment may hold.
 */
export interface Segment {
  readonly path: string;
  readonly epoch: number;
  readonly first: number;
}

const SEGMENT = /^journal-([1-9][0-9]*)-([1-9][0-9]*)\.log$/;

export function segmentPath(folder: string, epoch: number, first: number): string {
  return join(folder, `journal-${epoch}-${first}.log`);
}

/** Returns the segments in a file's folder, by epoch and first number. Synchronous, to be one step with a transaction. */
export function findSegments(folder: string): Segment[] {
  const segments = readdirSync(folder).flatMap((name) => {
    const match = SEGMENT.exec(name);
    return match === null ? [] : [{ path: join(folder, name), epoch: Number(match[1]), first: Number(match[2]) }];
  });
  return segments.sort((left, right) => left.epoch - right.epoch || left.first - right.first);
}

/** Segments, and what was in them when they were loaded. */
export interface LoadedSegments {
  readonly segments: readonly Segment[];
  readonly read: (path: string) => Uint8Array;
}

/** Reads all segments in this turn. Those that are removed meanwhile are left out. */
export function loadSegments(folder: string): LoadedSegments {
  const contents = new Map<string, Uint8Array>();
  const segments = findSegments(folder).filter(({ path }) => {
    try {
      contents.set(path, readFileSync(path));
      return true;
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return false;
      throw error;
    }
  });
  return { segments, read: (path) => must(contents.get(path)) };
}

/**
 * Copies the segments as they are now; returns the copies' paths, which are not durable yet. Segments that are removed
 * meanwhile are skipped: what they held is in the data file's pages by then.
 */
export async function copySegments(folder: string, target: string): Promise<string[]> {
  const copies: string[] = [];
  try {
    for (const { path } of findSegments(folder)) {
      const copy = join(target, basename(path));
      if (await copyUnlessGone(path, copy)) copies.push(copy);
    }
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
  return copies;
}

/** Makes segments durable, and their names. */
export async function syncSegments(folder: string, paths: readonly string[]): Promise<void> {
  for (const path of paths) await syncPath(path);
  if (paths.length > 0) await syncPath(folder);
}

async function copyUnlessGone(path: string, copy: string): Promise<boolean> {
  try {
    await copyFile(path, copy);
    return true;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false;
    throw error;
  }
}
