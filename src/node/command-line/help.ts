/** The commands and their help texts. docs/node.md#the-command-line shows the same commands as a table. */

export const commandNames = [
  ...(['serve', 'import', 'export', 'replicate', 'verify', 'compact'] as const),
  ...(['backup', 'restore', 'copy', 'admin'] as const),
] as const;

export type CommandName = (typeof commandNames)[number];

export function helpFor(topic: CommandName | undefined): string {
  return topic === undefined ? overview : topics[topic];
}

const overview = `Settee, a document database with an HTTP interface.

Usage: settee [command] [options]

  serve                       start a server for a data folder (the default)
  import URL FILE             write the documents of a JSON file into a database
  export URL [FILE]           write the documents of a database to a JSON file
  replicate SOURCE TARGET     copy one database to another, local or remote
  verify [DB…]                check a data folder, or databases in PostgreSQL, for damage
  compact [DB…]               make databases smaller that no server uses
  backup TARGET               copy a data folder, or databases in PostgreSQL, also while a server uses them
  restore SOURCE              create a data folder, or databases in PostgreSQL, from a backup
  copy --from A --to B        copy databases from a data folder to PostgreSQL, back, or between two of a kind
  admin add NAME              add a server admin, or change the password of one

  -h, --help                  show this text, or the help of a command (settee import --help)
  -v, --version               show the version
`;

const topics: Readonly<Record<CommandName, string>> = {
  serve: `Usage: settee [serve] [options]

Serves a data folder over HTTP until it receives SIGINT or SIGTERM. Then it finishes the requests in progress, writes
everything to disk, and exits. A second signal ends it at once, which loses no acknowledged write.

  -p, --port NUMBER           the port to listen on; 0 takes any free one (default: SETTEE_PORT, httpd/port or 5984)
      --host HOST             the address to listen on; addresses that other machines can reach require an admin
                              (default: SETTEE_HOST, httpd/bind_address or 127.0.0.1)
      --allow-host NAME       a host name besides localhost that requests may be for; requests for other names are
                              refused with 403 (may be repeated)
  -d, --data FOLDER           the folder of the databases, created if it does not exist (default: SETTEE_DATA or ./data)
      --memory                keep everything in memory instead, until the server stops
      --storage URL           keep databases and settings in PostgreSQL instead, as in postgres://user@host:5432/database
                              (default: SETTEE_STORAGE; docs/node.md#postgresql)
      --announce URL          where clients reach this server, for servers that stand by for the same storage
                              (default: SETTEE_ANNOUNCE, or where it listens; docs/node.md#several-servers)
      --cluster               own some of the databases of that storage, beside the other servers that are started so
                              (default: SETTEE_CLUSTER=1; docs/node.md#a-cluster)
      --workers NUMBER        processes that accept requests, 1 to 64, or auto for one per processor; from 2 on one more
                              process owns the databases (default: SETTEE_WORKERS or 1; docs/node.md#more-than-one-processor)
      --without-admin         serve the folder even if its server had admins and now has none: everyone who can reach
                              the server may then do everything
      --demo-port NUMBER      the port of the demo (default: 5985, or any free one if --port is 0)
      --no-demo               do not serve the demo
      --log-level LEVEL       what to log on stderr: none, error, warning, info, debug or request (default: log/level
                              or info)
      --tls-cert FILE         use https with this certificate, a PEM file (default: ssl/cert_file)
      --tls-key FILE          the key of this certificate, a PEM file (default: ssl/key_file)
      --config FILE           the configuration file (default: SETTEE_CONFIG, or settee.ini in the data folder)
      --set SECTION/KEY=VALUE a setting (may be repeated; docs/http/server.md#settings lists them)
      --preset NAME           the settings that an app needs: obsidian-livesync, or pouchdb for web apps of other origins
                              (default: SETTEE_PRESET or none; docs/node.md#presets says what each sets, and why)

Options and environment variables take precedence over the configuration file, and that over a preset.

Exit code: 0 after a signal; 1 if the server could not start, or could not stop cleanly; 2 for wrong arguments or a
wrong configuration.
`,
  import: `Usage: settee import URL FILE [options]

Writes the documents of FILE into the database at URL (such as http://127.0.0.1:5984/countries). FILE contains a JSON
array, JSON lines, or an object with "docs" or "rows" (a response of _all_docs?include_docs=true). It may be gzipped;
- is standard input. Numbers keep their digits, and members their order. Memory stays small for files of any size.

      --create                create the database if it does not exist
      --id MEMBER             use this member as the _id of documents that have none
      --new-edits false       keep each document's _rev, as replication does (default: true, a new revision for each)
      --format FORMAT         auto, array, lines, docs or rows (default: auto)
      --batch-size NUMBER     the most documents in one request, 1 to 100000; a request also has at most 4 MB
                              (default: 1000)
      --refused FILE          write each refusal to FILE, as a JSON line {"place","id","error","reason"}; the first
                              document has place 1
      --attachments DIR       the folder with the content of attachments of which FILE has only stubs, as export
                              writes it

Each document is written or refused on its own: a document that is refused, or is not a JSON object, does not stop the
others. With --attachments a document is also refused if a file is missing, or differs from its stub in length or digest.

Exit code: 0 if all documents were written; 1 if any was refused, or the import stopped early; 2 for wrong arguments.
`,
  export: `Usage: settee export URL [FILE] [options]

Writes every document of the database at URL to FILE (gzipped if its name ends in .gz), or to standard output. Each
document has its _id and current _rev. Design documents are included; _local documents and losing revisions are not.
To import them with the same revisions: settee import URL FILE --new-edits false

      --format FORMAT         lines: one document per line (default); array: one JSON array
      --attachments DIR       write each attachment to a file below DIR, in a folder for each document. DIR must be
                              new, empty, or from an earlier export: files with the right digest are not read again,
                              so the same command continues an export that was interrupted

Without --attachments, documents contain only the stubs of attachments. Attachments that can't be read are listed on
stderr, and everything else is written.

Exit code: 0 if everything was written; 1 on failure (FILE is then left as it was, unless only attachments failed); 2 for
wrong arguments.
`,
  replicate: `Usage: settee replicate SOURCE TARGET [options]

Copies what SOURCE has and TARGET lacks: all revisions of documents, with conflicts, deletions and attachments. Each of
the two is the URL of a database, such as https://name:password@host/database, on any server of the family; or the name
of a database in a data folder that no server is using. Both databases keep a checkpoint, so the same command continues
where the last one stopped.

      --continuous            continue with each change of SOURCE until a signal, also after failures
      --create-target         create TARGET if it does not exist
      --doc-ids ID,…          copy only these documents (may be repeated)
      --filter DESIGN/NAME    copy only what this filter function of SOURCE accepts
      --param NAME=VALUE      a parameter of the filter function (may be repeated)
      --selector JSON         copy only documents that match this selector
      --since SEQ             start after this sequence of SOURCE, instead of at the checkpoint
      --retry-refused         copy only the documents that TARGET refused before
      --retries NUMBER        how often a failed request is sent again, with growing waits (default: 10)
      --proxy ADDRESS         use this proxy, an address with http: or socks5:
  -d, --data FOLDER           the folder of databases given by name (default: SETTEE_DATA or ./data)
      --storage URL           the storage in PostgreSQL of databases given by name, instead (default: SETTEE_STORAGE)

Documents that TARGET refuses are listed on stderr; all others are copied. After SIGINT or SIGTERM the command saves a
checkpoint and exits; a second signal ends it at once.

Exit code: 0 if everything was copied, or a continuous replication received a signal; 1 if a document was refused, on
failure, or if the command was stopped early; 2 for wrong arguments.
`,
  verify: `Usage: settee verify [DB…] [options]

Reads all of a data folder, or of a storage in PostgreSQL, that no server is using: the list of databases, their
journals, trees and documents, and their indexes. Reports what is damaged. Documents are not changed, but the files are
opened as a server opens them, which requires the right to write them.

      --repair                remove what is damaged if the rest can then be used, and report what is lost: a record of
                              a journal with everything after it, an index (it is rebuilt later), or a revision of a
                              document that can't be read
  -d, --data FOLDER           the data folder (default: SETTEE_DATA or ./data)
      --storage URL           the storage in PostgreSQL instead (default: SETTEE_STORAGE)

Exit code: 0 if there is no damage, or none is left after --repair; 1 if something is damaged or can't be read; 2 for
wrong arguments.
`,
  compact: `Usage: settee compact [DB…] [options]

Compacts the named databases, or all, of a data folder or a storage in PostgreSQL that no server is using: old revisions
and free space go. Prints the size of each before and after. A server compacts by itself, and on request
(POST /DB/_compact); this command is for databases without a server.

  -d, --data FOLDER           the data folder (default: SETTEE_DATA or ./data)
      --storage URL           the storage in PostgreSQL instead (default: SETTEE_STORAGE)

Exit code: 0 if all were compacted; 1 on failure; 2 for wrong arguments.
`,
  backup: `Usage: settee backup TARGET [options]

Copies a data folder, or a storage in PostgreSQL, into the new folder TARGET, which is a data folder itself: each database
as of its last commit (in PostgreSQL all as of one moment), and the settings, including the hashed passwords of admins,
which only the owner of the copy can read. A server may use what is copied. Databases that can't be read are listed on
stderr, and the others are copied.
A backup does not check all data; "settee verify --data TARGET" does.

  -d, --data FOLDER           the data folder to copy (default: SETTEE_DATA or ./data)
      --storage URL           the storage in PostgreSQL to copy instead (default: SETTEE_STORAGE)
      --config FILE           the server's configuration file (default: SETTEE_CONFIG, or settee.ini in the data folder,
                              or the table in the storage)

Exit code: 0 if the copy is complete; 1 on failure, or if something is missing from the copy; 2 for wrong arguments.
`,
  restore: `Usage: settee restore SOURCE --data FOLDER
       settee restore SOURCE --storage URL

Creates the data folder FOLDER, or databases in PostgreSQL, from a backup. Indexes and replication notice that the
databases went back in time, and do not rely on what they knew of them. What is missing or incomplete in the backup is
listed on stderr. Settings and admins are restored too, unless the target already has settings. If it then has no admin
although its server had one, or if the backup has no settings and so can't tell, it is not served until an admin is added.

  -d, --data FOLDER           the new data folder, which must not contain databases
      --storage URL           the storage in PostgreSQL, which must not contain databases. Then no server may use SOURCE,
                              and the same command continues after an interruption

Exit code: 0 if the target is complete; 1 on failure, or if something is missing from it; 2 for wrong arguments.
`,
  copy: `Usage: settee copy --from PLACE --to PLACE [DB…] [options]

Copies the named databases, or all, from one place to another that no server is using. A place is a data folder, or the
URL of a storage in PostgreSQL (docs/node.md#postgresql). Documents, conflicts, deletions, attachments, local documents,
rights, update sequences and indexes are the same afterwards. Settings come along if the target has none.

Each page is compared with its original. The target shows nothing before all is copied; run the same command again to
continue after an interruption. Databases that are there already, with the same content, are left out.

      --from PLACE            where the databases are (default: SETTEE_STORAGE, if --to is given)
      --to PLACE              where they are copied to (default: SETTEE_STORAGE, if --from is given)
      --replace               delete a database of the target that has the same name and another content

Don't serve both places afterwards: the copy has the same server uuid. To keep two databases in step, use
"settee replicate". For a backup, which marks databases as gone back in time, use "settee restore".

Exit code: 0 if everything is copied; 1 on failure; 2 for wrong arguments.
`,
  admin: `Usage: settee admin add NAME [options]

Makes NAME a server admin, or changes the password of that admin. Asks for the password twice, without showing it; if
standard input is not a terminal, reads the password from its first line. Stores the password's hash in settee.ini in the
data folder, which only its owner can read, or in the storage. Restart a running server to apply the change.

  -d, --data FOLDER           the data folder (default: SETTEE_DATA or ./data)
      --storage URL           the storage in PostgreSQL instead (default: SETTEE_STORAGE)
      --config FILE           the server's configuration file (default: SETTEE_CONFIG, or settee.ini in the data folder)

Exit code: 0 if the hash was stored; 1 on failure; 2 for wrong arguments.
`,
};
