import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { sandboxProgram } from '../../src/packages/build/sandbox-program.ts';
import { isLongRun } from '../support/long-runs.ts';
import { longestFirst } from '../support/longest-first.ts';
import { patient } from '../support/patience.ts';

const root = `${import.meta.dirname}/../..`;
const engines = (process.env['SETTEE_BROWSERS'] ?? 'chromium').split(',');

/** They measure milliseconds: nothing else may run, so they run before all others. */
const measuring = ['test/browser/faults-ownership.test.ts', 'test/browser/functions-beside.test.ts'];
/** It takes minutes in which almost nothing happens: all engines at the same time. */
const waiting = ['test/browser/long-bodies.test.ts'];
/** What the other engines test in two other setups, through a page and through a service worker; and what only Chromium can measure. */
const inChromiumOnly = ['test/browser/http-conformance-core.test.ts', 'test/browser/large-attachments.test.ts'];
/** What Chromium tests of the administration page and the demo, and Firefox in a long run only: the others test the main ways. */
const fully = [
  ...[
    ...['activity', 'bulk', 'console', 'document-revisions', 'documents-conflicts', 'foreign-server', 'read-only'],
    ...['replication-attention', 'self-test', 'settings', 'sizes', 'storage', 'users'],
  ].map(inAdmin),
  ...['lists', 'newcomer'].map(ofDemo),
];
/** WebKit's driver takes one command at a time, and makes some waits too long. */
const notInWebKit = [
  ...fully,
  ...[
    ...['attachments', 'document', 'document-conflict', 'document-form', 'documents', 'documents-phone', 'query'],
    ...['replication'],
  ].map(inAdmin),
  ...['notes', 'visitor'].map(ofDemo),
  'test/browser/sync-guide.test.ts',
];
const excludedFrom: Readonly<Record<string, readonly string[]>> = {
  chromium: [],
  firefox: [...inChromiumOnly, ...(isLongRun ? [] : fully)],
  webkit: [...inChromiumOnly, ...notInWebKit],
};
const long = [
  'http-conformance',
  'last-edits',
  'demo',
  'faults-s',
  'replication',
  'tabs',
  'precache',
  'bodies',
  'first-app',
  'sync-guide',
];

function inAdmin(name: string): string {
  return `test/browser/admin/${name}.test.ts`;
}

function ofDemo(name: string): string {
  return `test/browser/demo-${name}.test.ts`;
}

interface Files {
  readonly include: string[];
  readonly exclude?: string[];
  /** The engines, separated by commas. */
  readonly browsers: string;
  /** Files at a time. */
  readonly workers: number;
  /** Projects with a lower number run before. */
  readonly order: number;
}

function project(name: string, files: Files): TestProjectInlineConfiguration {
  return {
    // Of the Node server, with which pages exchange documents.
    plugins: [sandboxProgram(`${root}/src/queries/sandbox/runtime/main.ts`)],
    test: {
      name,
      root,
      include: files.include,
      exclude: files.exclude ?? [],
      env: { SETTEE_BROWSERS: files.browsers },
      maxWorkers: files.workers,
      sequence: { groupOrder: files.order },
      // A test takes seconds; the rest is for a busy machine.
      testTimeout: 300_000,
      hookTimeout: 300_000,
      expect: { poll: patient },
      // A browser on a busy machine now and then loses an answer or an event, or is so late that a page shows the next state already:
      // what fails is tried once more. second-attempts.ts tells what failed at the first attempt, and why.
      retry: 1,
      // No module keeps anything, and loading the drivers anew for each file takes a second of a processor.
      isolate: false,
      // Those that do run at once only wait.
      maxConcurrency: 20,
      pool: 'forks',
    },
  };
}

/** Most tests spend a part of the time waiting: three files at a time keep two processors busy. */
const besideOthers = { workers: 3, order: 1 };

function projectsOf(engine: string): TestProjectInlineConfiguration[] {
  const exclude = [...measuring, ...waiting, ...(excludedFrom[engine] ?? [])];
  return [
    project(`${engine}, alone`, { include: measuring, browsers: engine, workers: 1, order: 0 }),
    project(engine, { include: ['test/browser/**/*.test.ts'], exclude, browsers: engine, ...besideOthers }),
  ];
}

/** The tests that drive browsers, in the engines that `SETTEE_BROWSERS` lists: Chromium, if it is not set. */
export default defineConfig({
  test: {
    root,
    globalSetup: `${import.meta.dirname}/global-setup.ts`,
    sequence: { sequencer: longestFirst(waiting, long) },
    projects: [
      ...engines.flatMap(projectsOf),
      project(`${engines.join()}, waiting`, { include: waiting, browsers: engines.join(), ...besideOthers }),
    ],
  },
});
