import type { Suite } from '../../support/conformance/suite.ts';
import accountsAccessMatrix from './accounts/access-matrix.ts';
import accountsAuthCache from './accounts/auth-cache.ts';
import accountsBasicAuth from './accounts/basic-auth.ts';
import accountsCaches from './accounts/caches.ts';
import accountsEndedSessions from './accounts/ended-sessions.ts';
import accountsJwt from './accounts/jwt.ts';
import accountsLogIns from './accounts/log-ins.ts';
import accountsOauth from './accounts/oauth.ts';
import accountsOpenFeeds from './accounts/open-feeds.ts';
import accountsProxyauth from './accounts/proxyauth.ts';
import accountsReaderAcl from './accounts/reader-acl.ts';
import accountsSecurityValidation from './accounts/security-validation.ts';
import accountsSessionCookies from './accounts/session-cookies.ts';
import accountsSessionRenewal from './accounts/session-renewal.ts';
import accountsTotp from './accounts/totp.ts';
import accountsUsersDb from './accounts/users-db.ts';
import accountsUsersDbSecurity from './accounts/users-db-security.ts';
import admins from './admins.ts';
import allDocs from './all-docs.ts';
import allowedMethods from './allowed-methods.ts';
import attachmentEncodings from './attachment-encodings.ts';
import attachmentRanges from './attachment-ranges.ts';
import attachmentStubs from './attachment-stubs.ts';
import attachmentViews from './attachment-views.ts';
import attachments from './attachments.ts';
import attachmentsInDocuments from './attachments-in-documents.ts';
import attachmentsMultipart from './attachments-multipart.ts';
import autoPurge from './auto-purge.ts';
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
import changesTimes from './changes/times.ts';
import clock from './clock.ts';
import compact from './compact.ts';
import config from './config.ts';
import configNames from './config-names.ts';
import configValues from './config-values.ts';
import conflicts from './conflicts.ts';
import contentNegotiation from './content-negotiation.ts';
import copyDoc from './copy-doc.ts';
import correctionsDocuments from './corrections-documents.ts';
import correctionsFind from './corrections-find.ts';
import correctionsFunctions from './corrections-functions.ts';
import correctionsLists from './corrections-lists.ts';
import correctionsReduces from './corrections-reduces.ts';
import correctionsViews from './corrections-views.ts';
import cors from './cors.ts';
import crossSite from './cross-site.ts';
import databases from './databases.ts';
import declarativeValidation from './declarative-validation.ts';
import delayedCommits from './delayed-commits.ts';
import designDocs from './design-docs.ts';
import designInfo from './design-info.ts';
import designOptions from './design-options.ts';
import designPaths from './design-paths.ts';
import documentSize from './document-size.ts';
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
import functionLimits from './function-limits.ts';
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
import log from './log.ts';
import lotsOfDocs from './lots-of-docs.ts';
import manyDatabases from './many-databases.ts';
import methodOverride from './method-override.ts';
import multipleRows from './multiple-rows.ts';
import nodes from './nodes.ts';
import notYet from './not-yet.ts';
import numbers from './numbers.ts';
import oldApp from './old-app.ts';
import openRevs from './open-revs.ts';
import purge from './purge.ts';
import queryMethod from './query-method.ts';
import readDocuments from './read-documents.ts';
import recreateDoc from './recreate-doc.ts';
import reduce from './reduce.ts';
import reduceBuiltin from './reduce-builtin.ts';
import reduceFalse from './reduce-false.ts';
import replicationContinuous from './replication/continuous.ts';
import replicationDocumentFields from './replication/document-fields.ts';
import replicationDocumentList from './replication/document-list.ts';
import replicationDocumentRestart from './replication/document-restart.ts';
import replicationDocumentUsers from './replication/document-users.ts';
import replicationDocuments from './replication/documents.ts';
import replicationOnce from './replication/once.ts';
import replicationRemote from './replication/remote.ts';
import replicationRights from './replication/rights.ts';
import restart from './restart.ts';
import revStemming from './rev-stemming.ts';
import revsDiff from './revs-diff.ts';
import rewrite from './rewrite.ts';
import securityHeaders from './security-headers.ts';
import securityObject from './security-object.ts';
import serverEndpoints from './server-endpoints.ts';
import showDocuments from './show-documents.ts';
import stats from './stats.ts';
import tempView from './temp-view.ts';
import updateDocuments from './update-documents.ts';
import updateFunctions from './update-functions.ts';
import utf8 from './utf8.ts';
import uuids from './uuids.ts';
import validation from './validation.ts';
import vhosts from './vhosts.ts';
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
  admins,
  accountsAccessMatrix,
  accountsAuthCache,
  accountsBasicAuth,
  accountsCaches,
  accountsEndedSessions,
  accountsJwt,
  accountsTotp,
  accountsLogIns,
  accountsOauth,
  accountsOpenFeeds,
  accountsProxyauth,
  accountsReaderAcl,
  accountsSecurityValidation,
  accountsSessionCookies,
  accountsSessionRenewal,
  accountsUsersDb,
  accountsUsersDbSecurity,
  allDocs,
  allowedMethods,
  attachments,
  attachmentEncodings,
  attachmentRanges,
  attachmentStubs,
  attachmentViews,
  attachmentsInDocuments,
  attachmentsMultipart,
  autoPurge,
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
  changesTimes,
  clock,
  compact,
  config,
  configNames,
  configValues,
  conflicts,
  contentNegotiation,
  copyDoc,
  correctionsDocuments,
  correctionsFind,
  correctionsFunctions,
  correctionsLists,
  correctionsReduces,
  correctionsViews,
  cors,
  crossSite,
  databases,
  declarativeValidation,
  delayedCommits,
  designDocs,
  designInfo,
  designOptions,
  designPaths,
  documentSize,
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
  functionLimits,
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
  log,
  lotsOfDocs,
  manyDatabases,
  methodOverride,
  multipleRows,
  nodes,
  notYet,
  numbers,
  oldApp,
  openRevs,
  purge,
  queryMethod,
  readDocuments,
  recreateDoc,
  reduce,
  reduceBuiltin,
  reduceFalse,
  replicationContinuous,
  replicationDocumentFields,
  replicationDocumentList,
  replicationDocumentRestart,
  replicationDocumentUsers,
  replicationRights,
  replicationDocuments,
  replicationOnce,
  replicationRemote,
  restart,
  revStemming,
  revsDiff,
  rewrite,
  securityHeaders,
  securityObject,
  serverEndpoints,
  showDocuments,
  stats,
  tempView,
  updateDocuments,
  updateFunctions,
  utf8,
  uuids,
  validation,
  vhosts,
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

/**
 * Those that depend on how a request and its answer travel: addresses, headers, cookies, bodies, streams, feeds, errors. All others are about
 * what the core does, which is the same behind every door, and so are the cases of these that are marked with `ofCore`.
 */
const transportSuites: readonly Suite[] = [
  accountsBasicAuth,
  accountsCaches,
  accountsEndedSessions,
  accountsLogIns,
  accountsOpenFeeds,
  accountsProxyauth,
  accountsSessionCookies,
  accountsSessionRenewal,
  allowedMethods,
  attachments,
  attachmentEncodings,
  attachmentRanges,
  attachmentsInDocuments,
  attachmentsMultipart,
  basics,
  batchSave,
  changesDatabaseEvents,
  changesFormats,
  changesLive,
  changesLongpoll,
  contentNegotiation,
  copyDoc,
  cors,
  crossSite,
  delayedCommits,
  documentSize,
  errors,
  etagsHead,
  etagsViews,
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
  locations,
  methodOverride,
  oldApp,
  queryMethod,
  replicationContinuous,
  replicationOnce,
  replicationRemote,
  restart,
  rewrite,
  securityHeaders,
  serverEndpoints,
  showDocuments,
  utf8,
  vhosts,
];

/** `all` of them, or those that depend on the `transport`. */
export type SuiteScope = 'all' | 'transport';

export function suitesOf(scope: SuiteScope): readonly Suite[] {
  if (scope === 'all') return suites;
  return transportSuites.map(({ name, cases }) => ({ name, cases: cases.filter(({ isOfCore }) => !isOfCore) }));
}
