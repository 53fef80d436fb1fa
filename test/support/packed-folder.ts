import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';

interface PackedFile {
  readonly path: string;
  readonly bytes: number;
}

/** Creates a data folder from one file: gzipped, a line of JSON with `{path, bytes}` for each file, then the files one after another. */
export async function unpackFolder(packedFile: string, folder: string): Promise<void> {
  const packed = gunzipSync(await readFile(packedFile));
  const end = packed.indexOf('\n');
  const files: readonly PackedFile[] = JSON.parse(packed.subarray(0, end).toString());
  let from = end + 1;
  for (const { path, bytes } of files) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), packed.subarray(from, from + bytes));
    from += bytes;
  }
}
