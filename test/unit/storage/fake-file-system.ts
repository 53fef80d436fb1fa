/**
 * The origin's private file system, as much of it as journal files take: folders, files, and access handles of the mode `readwrite-unsafe`, of
 * which a file may have several open. What a handle wrote is there at once for whoever reads the file.
 */
export class FakeFileSystem {
  readonly root = new FakeDirectory(this);
  /** Called before each operation with its name; what it throws is what the operation fails with. */
  onOperation: (name: string) => void = () => undefined;

  readonly getDirectory = async (): Promise<FileSystemDirectoryHandle> => {
    this.onOperation('getDirectory');
    return this.root as unknown as FileSystemDirectoryHandle;
  };

  /** Paths of all files, sorted. */
  get paths(): string[] {
    return this.root.paths().sort();
  }
}

/** Stands in for the browser's class: by its `mode` journal files know that handles can be shared. */
export class FakeSyncAccessHandle {
  readonly #file: FakeFile;
  #isOpen = true;

  constructor(file: FakeFile) {
    this.#file = file;
    file.open.add(this);
  }

  get mode(): string {
    return 'readwrite-unsafe';
  }

  write(bytes: Uint8Array, { at }: { at: number }): number {
    this.#begin('write');
    const taken = Math.min(bytes.length, this.#file.room - at);
    if (taken < bytes.length && this.#file.refusesBeyondRoom) throw new DOMException('full', 'QuotaExceededError');
    const end = Math.max(this.#file.content.length, at + taken);
    const content = new Uint8Array(end);
    content.set(this.#file.content);
    content.set(bytes.subarray(0, taken), at);
    this.#file.content = content;
    return taken;
  }

  read(bytes: Uint8Array, { at }: { at: number }): number {
    this.#begin('read');
    const part = this.#file.content.subarray(at, at + bytes.length);
    bytes.set(part);
    return part.length;
  }

  getSize(): number {
    this.#begin('getSize');
    return this.#file.content.length;
  }

  truncate(size: number): void {
    this.#begin('truncate');
    this.#file.content = this.#file.content.slice(0, size);
  }

  close(): void {
    this.#isOpen = false;
    this.#file.open.delete(this);
  }

  #begin(operation: string): void {
    this.#file.system.onOperation(operation);
    if (!this.#isOpen) throw new DOMException('closed', 'InvalidStateError');
  }
}

class FakeFile {
  readonly system: FakeFileSystem;
  readonly open = new Set<FakeSyncAccessHandle>();
  content = new Uint8Array(0);
  /** Bytes that it can take; beyond them a write is cut short, or refused. */
  room = Number.POSITIVE_INFINITY;
  refusesBeyondRoom = false;

  constructor(system: FakeFileSystem) {
    this.system = system;
  }

  async createSyncAccessHandle(options?: { mode: string }): Promise<FakeSyncAccessHandle> {
    this.system.onOperation('createSyncAccessHandle');
    if (options?.mode !== 'readwrite-unsafe') throw new TypeError('only shared handles are made here');
    return new FakeSyncAccessHandle(this);
  }

  async createWritable(): Promise<{ abort(): Promise<void> }> {
    this.system.onOperation('createWritable');
    if (this.open.size > 0) throw new DOMException('locked', 'NoModificationAllowedError');
    return { abort: async () => undefined };
  }

  async getFile(): Promise<{ arrayBuffer(): Promise<ArrayBuffer> }> {
    this.system.onOperation('getFile');
    return { arrayBuffer: async () => this.content.slice().buffer };
  }
}

class FakeDirectory {
  readonly system: FakeFileSystem;
  readonly folders = new Map<string, FakeDirectory>();
  readonly files = new Map<string, FakeFile>();

  constructor(system: FakeFileSystem) {
    this.system = system;
  }

  paths(): string[] {
    const below = [...this.folders].flatMap(([name, folder]) => folder.paths().map((path) => `${name}/${path}`));
    return [...this.files.keys(), ...below];
  }

  async getDirectoryHandle(name: string, options?: { create: boolean }): Promise<FakeDirectory> {
    this.system.onOperation('getDirectoryHandle');
    return found(this.folders, name, options?.create === true ? () => new FakeDirectory(this.system) : undefined);
  }

  async getFileHandle(name: string, options?: { create: boolean }): Promise<FakeFile> {
    this.system.onOperation('getFileHandle');
    return found(this.files, name, options?.create === true ? () => new FakeFile(this.system) : undefined);
  }

  async removeEntry(name: string, options?: { recursive: boolean }): Promise<void> {
    this.system.onOperation('removeEntry');
    const isThere = this.files.has(name) || (options?.recursive === true && this.folders.has(name));
    if (!isThere) throw new DOMException(name, 'NotFoundError');
    if ((this.files.get(name)?.open.size ?? 0) > 0) throw new DOMException(name, 'NoModificationAllowedError');
    this.files.delete(name);
    this.folders.delete(name);
  }

  async *keys(): AsyncGenerator<string> {
    this.system.onOperation('keys');
    yield* [...this.folders.keys(), ...this.files.keys()];
  }
}

function found<T>(entries: Map<string, T>, name: string, create: (() => T) | undefined): T {
  const entry = entries.get(name) ?? create?.();
  if (entry === undefined) throw new DOMException(name, 'NotFoundError');
  entries.set(name, entry);
  return entry;
}
