import type { Suite } from '../../support/conformance/suite.ts';
import allDocs from './all-docs.ts';
import allowedMethods from './allowed-methods.ts';
import attachmentRanges from './attachment-ranges.ts';
import attachmentViews from './attachment-views.ts';
import attachments from './attachments.ts';
import attachmentsMultipart from './attachments-multipart.ts';
import basics from './basics.ts';
import batchSave from './batch-save.ts';
import bulkDocs from './bulk-docs.ts';
import bulkGet from './bulk-get.ts';
import changesDatabaseEvents from './changes/database-events.ts';
import changesDocuments from './changes/documents.ts';
import changesFilterFunctions from './changes/filter-functions.ts';
import changesFilters from './changes/filters.ts';
import changesFormats from './changes/formats.ts';
import changesLeaves from './changes/leaves.ts';
import changesLive from './changes/live.ts';
import changesLongpoll from './changes/longpoll.ts';
import changesParameters from './changes/parameters.ts';
import changesPosts from './changes/posts.ts';
import changesRows from './changes/rows.ts';
import changesTags from './changes/tags.ts';
import clock from './clock.ts';
import compact from './compact.ts';
import conflicts from './conflicts.ts';
import contentNegotiation from './content-negotiation.ts';
import copyDoc from './copy-doc.ts';
import correctionsDocuments from './corrections-documents.ts';
import correctionsFind from './corrections-find.ts';
import correctionsFunctions from './corrections-functions.ts';
import correctionsLists from './corrections-lists.ts';
import correctionsReduces from './corrections-reduces.ts';
import correctionsViews from './corrections-views.ts';
import crossSite from './cross-site.ts';
import databases from './databases.ts';
import delayedCommits from './delayed-commits.ts';
import designDocs from './design-docs.ts';
import designInfo from './design-info.ts';
import designOptions from './design-options.ts';
import designPaths from './design-paths.ts';
import errors from './errors.ts';
import etagsHead from './etags-head.ts';
import etagsViews from './etags-views.ts';
import findBasics from './find-basics.ts';
import findErrors from './find-errors.ts';
import findIndexes from './find-indexes.ts';
import findOperators from './find-operators.ts';
import findPlanning from './find-planning.ts';
import findRegex from './find-regex.ts';
import formSubmit from './form-submit.ts';
import gzip from './gzip.ts';
import head from './head.ts';
import hostile from './hostile.ts';
import http from './http.ts';
import invalidDocids from './invalid-docids.ts';
import jsonp from './jsonp.ts';
import largeDocs from './large-docs.ts';
import listViews from './list-views.ts';
import liveFinds from './live/finds.ts';
import liveViews from './live/views.ts';
import localDocs from './local-docs.ts';
import locations from './locations.ts';
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
import reduce from './reduce.ts';
import reduceBuiltin from './reduce-builtin.ts';
import reduceFalse from './reduce-false.ts';
import restart from './restart.ts';
import revStemming from './rev-stemming.ts';
import revsDiff from './revs-diff.ts';
import rewrite from './rewrite.ts';
import securityObject from './security-object.ts';
import serverEndpoints from './server-endpoints.ts';
import showDocuments from './show-documents.ts';
import tempView from './temp-view.ts';
import updateDocuments from './update-documents.ts';
import updateFunctions from './update-functions.ts';
import utf8 from './utf8.ts';
import uuids from './uuids.ts';
import validation from './validation.ts';
import viewBasics from './view-basics.ts';
import viewCleanup from './view-cleanup.ts';
import viewCollation from './view-collation.ts';
import viewCollationRaw from './view-collation-raw.ts';
import viewCompaction from './view-compaction.ts';
import viewConflicts from './view-conflicts.ts';
import viewErrors from './view-errors.ts';
import viewIncludeDocs from './view-include-docs.ts';
import viewMultiKey from './view-multi-key.ts';
import viewOffsets from './view-offsets.ts';
import viewParameters from './view-parameters.ts';
import viewQueries from './view-queries.ts';
import viewSandboxing from './view-sandboxing.ts';
import viewUpdateSeq from './view-update-seq.ts';
import world from './world.ts';

/** Every suite of the HTTP interface, for runners in any environment. */
export const suites: readonly Suite[] = [
  allDocs,
  allowedMethods,
  attachments,
  attachmentRanges,
  attachmentViews,
  attachmentsMultipart,
  basics,
  batchSave,
  bulkDocs,
  bulkGet,
  changesDatabaseEvents,
  changesDocuments,
  changesFilterFunctions,
  changesFilters,
  changesFormats,
  changesLeaves,
  changesLive,
  changesLongpoll,
  changesParameters,
  changesPosts,
  changesRows,
  changesTags,
  clock,
  compact,
  conflicts,
  contentNegotiation,
  copyDoc,
  correctionsDocuments,
  correctionsFind,
  correctionsFunctions,
  correctionsLists,
  correctionsReduces,
  correctionsViews,
  crossSite,
  databases,
  delayedCommits,
  designDocs,
  designInfo,
  designOptions,
  designPaths,
  errors,
  etagsHead,
  etagsViews,
  findBasics,
  findErrors,
  findIndexes,
  findOperators,
  findPlanning,
  findRegex,
  formSubmit,
  gzip,
  head,
  hostile,
  http,
  invalidDocids,
  jsonp,
  largeDocs,
  listViews,
  liveFinds,
  liveViews,
  localDocs,
  locations,
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
  reduce,
  reduceBuiltin,
  reduceFalse,
  restart,
  revStemming,
  revsDiff,
  rewrite,
  securityObject,
  serverEndpoints,
  showDocuments,
  tempView,
  updateDocuments,
  updateFunctions,
  utf8,
  uuids,
  validation,
  viewBasics,
  viewCleanup,
  viewCollation,
  viewCollationRaw,
  viewCompaction,
  viewConflicts,
  viewErrors,
  viewIncludeDocs,
  viewMultiKey,
  viewOffsets,
  viewParameters,
  viewQueries,
  viewSandboxing,
  viewUpdateSeq,
  world,
];
