import type { Suite } from '../../support/conformance/suite.ts';
import allDocs from './all-docs.ts';
import allowedMethods from './allowed-methods.ts';
import basics from './basics.ts';
import batchSave from './batch-save.ts';
import bulkDocs from './bulk-docs.ts';
import bulkGet from './bulk-get.ts';
import clock from './clock.ts';
import compact from './compact.ts';
import conflicts from './conflicts.ts';
import contentNegotiation from './content-negotiation.ts';
import copyDoc from './copy-doc.ts';
import databases from './databases.ts';
import delayedCommits from './delayed-commits.ts';
import designDocs from './design-docs.ts';
import designPaths from './design-paths.ts';
import errors from './errors.ts';
import etagsHead from './etags-head.ts';
import gzip from './gzip.ts';
import head from './head.ts';
import hostile from './hostile.ts';
import http from './http.ts';
import invalidDocids from './invalid-docids.ts';
import jsonp from './jsonp.ts';
import largeDocs from './large-docs.ts';
import localDocs from './local-docs.ts';
import lotsOfDocs from './lots-of-docs.ts';
import manyDatabases from './many-databases.ts';
import methodOverride from './method-override.ts';
import multipleRows from './multiple-rows.ts';
import notYet from './not-yet.ts';
import numbers from './numbers.ts';
import openRevs from './open-revs.ts';
import purge from './purge.ts';
import readDocuments from './read-documents.ts';
import recreateDoc from './recreate-doc.ts';
import restart from './restart.ts';
import revStemming from './rev-stemming.ts';
import revsDiff from './revs-diff.ts';
import securityObject from './security-object.ts';
import serverEndpoints from './server-endpoints.ts';
import updateDocuments from './update-documents.ts';
import utf8 from './utf8.ts';
import uuids from './uuids.ts';

/** Every suite of the HTTP interface, for runners in any environment. */
export const suites: readonly Suite[] = [
  allDocs,
  allowedMethods,
  basics,
  batchSave,
  bulkDocs,
  bulkGet,
  clock,
  compact,
  conflicts,
  contentNegotiation,
  copyDoc,
  databases,
  delayedCommits,
  designDocs,
  designPaths,
  errors,
  etagsHead,
  gzip,
  head,
  hostile,
  http,
  invalidDocids,
  jsonp,
  largeDocs,
  localDocs,
  lotsOfDocs,
  manyDatabases,
  methodOverride,
  multipleRows,
  notYet,
  numbers,
  openRevs,
  purge,
  readDocuments,
  recreateDoc,
  restart,
  revStemming,
  revsDiff,
  securityObject,
  serverEndpoints,
  updateDocuments,
  utf8,
  uuids,
];
