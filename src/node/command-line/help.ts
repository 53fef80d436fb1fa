/** The commands and their help texts. docs/node.md#the-command-line shows the same commands as a table. */

export const commandNames = ['serve', 'import', 'export', 'replicate', 'verify', 'backup', 'restore', 'admin'] as const;

export type CommandName = (typeof commandNames)[number];

export function helpFor(topic: CommandName | undefined): string {
  return topic === undefined ? overview : topics[topic];
}

const overview = `Settee, a document database spoken to over HTTP.

Usage: settee [command] [options]

  serve                       serve a data folder (the default)
  import URL FILE             write the documents of a JSON file into a database
  export URL [FILE]           write the documents of a database as JSON
  replicate SOURCE TARGET     copy one database to another, here or elsewhere
  verify [DB…]                look for damage in a data folder
  backup TARGET               copy a data folder, consistently
  restore SOURCE              make a data folder from a backup
  admin add NAME              make somebody a server admin

  -h, --help                  this text, or that of a command (settee import --help)
  -v, --version               the version
`;

const topics: Readonly<Record<CommandName, string>> = {
  serve: `Usage: settee [serve] [options]

Serves a data folder over HTTP until it gets SIGINT or SIGTERM; then it lets running requests end, and writes
everything. A second signal ends it at once, which loses nothing that was acknowledged.

  -p, --port NUMBER           where to listen; 0 takes any free port (SETTEE_PORT, else httpd/port, 5984)
      --host HOST             the address (SETTEE_HOST, else httpd/bind_address, 127.0.0.1); others than those of this
                              machine alone need an admin
      --allow-host NAME       a name besides localhost that requests may ask for, as often as needed; others get 403
  -d, --data FOLDER           where databases are kept; made if need be (SETTEE_DATA, else ./data)
      --memory                keep everything in memory instead, until the end
      --without-admin         serve a folder whose server has had admins even where it has none now: everybody who
                              reaches it may do everything then
      --demo-port NUMBER      where the demo is served (default 5985; any free port where --port is 0)
      --no-demo               serve no demo
      --log-level LEVEL       none, error, info, debug or request, on stderr (else log/level, info)
      --tls-cert FILE         speak https with this certificate (PEM; else ssl/cert_file)
      --tls-key FILE          and with this key of it (PEM; else ssl/key_file)
      --config FILE           the configuration file (SETTEE_CONFIG, else settee.ini in the data folder)
      --set SECTION/KEY=VALUE a setting, as often as needed (docs/http/server.md#settings lists them)

What is given here or in the environment wins over the configuration file.

Exit code: 0 after a signal, 1 when it could not start or not close in order, 2 for a wrong call or
configuration.
`,
  import: `Usage: settee import URL FILE [options]

Writes the documents of FILE into the database at URL (http://127.0.0.1:5984/countries). FILE holds a JSON array,
JSON lines, or an object with "docs" or "rows" (as _all_docs?include_docs=true answers); it may be gzipped; - is
standard input. Numbers keep their digits, members their order. Memory stays small, whatever the size of FILE.

      --create                create the database if it is not there
      --id MEMBER             take this member as _id, where a document has none
      --new-edits false       keep each document's _rev, as replication does (default true: a new revision)
      --format FORMAT         auto, array, lines, docs or rows (default auto)
      --batch-size NUMBER     documents per request, 1 to 100000; also at most 4 MB (default 1000)
      --refused FILE          write every refusal as a JSON line {"place","id","error","reason"}; place 1 is the first
      --attachments DIR       where the files of attachments are that FILE has only stubs of, as export writes them

What the database refuses, and what is no object, keeps nothing else out: each element is written or refused. With
--attachments a document is also refused where a file is missing, or has not the length and digest of its stub.

Exit code: 0 when all were written, 1 when any was refused or the import ended early, 2 for a wrong call.
`,
  export: `Usage: settee export URL [FILE] [options]

Writes every document of the database at URL to FILE (gzipped if its name ends in .gz), or to standard output.
Each has its _id and current _rev; design documents are included, _local documents and losing revisions are not.
To read them back with the same revisions: settee import URL FILE --new-edits false

      --format FORMAT         lines: one document a line (default); array: one JSON array
      --attachments DIR       write each attachment to a file below DIR, in a folder for each document. DIR is new, or
                              empty, or from an earlier export: what is there with the same digest is not read again,
                              so that the same command goes on with an export that broke off

Without --attachments only their stubs are written. An attachment that can't be had is named, and all else is written.

Exit code: 0 when all is written, 1 on failure (FILE is then left as it was, unless only attachments failed), 2 for a
wrong call.
`,
  replicate: `Usage: settee replicate SOURCE TARGET [options]

Copies what SOURCE has and TARGET has not: all revisions of documents, with conflicts, deletions and attachments. Each
is a URL, such as https://name:password@host/database, of any server of the family; or the name of a database in a data
folder that no server uses. The same command goes on where the last one ended: both ends keep a checkpoint.

      --continuous            go on with each change of SOURCE until a signal; after failures, too
      --create-target         create TARGET if it is not there
      --doc-ids ID,…          these documents only, as often as needed
      --filter DESIGN/NAME    what this filter function of SOURCE lets pass
      --param NAME=VALUE      a parameter for the filter, as often as needed
      --selector JSON         documents that fulfil a selector
      --since SEQ             begin behind this sequence of SOURCE, in place of the checkpoint
      --retry-refused         only try again what TARGET has refused before
      --retries NUMBER        how often a request that failed is sent again, with growing waits (default 10)
      --proxy ADDRESS         by way of this proxy, http: or socks5:
  -d, --data FOLDER           where databases are that are named (SETTEE_DATA, else ./data)

Documents that TARGET refuses are named on stderr; all others are copied. SIGINT or SIGTERM ends it after a checkpoint, a
second one at once.

Exit code: 0 when all is copied, or a continuous one got a signal; 1 when any document was refused, on failure, or when
it was ended early; 2 for a wrong call.
`,
  verify: `Usage: settee verify [DB…] [options]

Reads everything in a data folder that no server uses: the list of databases, their journals, trees and documents, and
their indexes. Names what is damaged. No document changes; the files are opened as a server does, which has to be able
to write to them.

      --repair                drop what is damaged where the rest can be used without it, and say what goes: a record
                              of a journal with all behind it, a damaged index (it is built again), a revision of a
                              document that can't be read
  -d, --data FOLDER           (SETTEE_DATA, else ./data)

Exit code: 0 when all is well, or is after --repair; 1 when something is damaged or can't be read; 2 for a wrong call.
`,
  backup: `Usage: settee backup TARGET [options]

Copies a data folder into the new folder TARGET, each database in the state of its last commit, and the settings with
the hashed passwords of admins, which only the owner of the copy can read. A server may be using the folder
meanwhile. TARGET is a data folder itself. A database that can't be read is named on stderr, and the others
are copied. What can't be seen from outside of the files is what "settee verify --data TARGET" looks for.

  -d, --data FOLDER           (SETTEE_DATA, else ./data)
      --config FILE           the server's configuration file (SETTEE_CONFIG, else settee.ini in the data folder)

Exit code: 0 when the copy is complete, 1 on failure or when something is not in it, 2 for a wrong call.
`,
  restore: `Usage: settee restore SOURCE --data FOLDER

Makes the new data folder FOLDER from a backup. Its databases know that they went back in time, so that indexes and
replication don't take them for what they were. What the backup does not hold, or not whole, is named on stderr.
Settings and admins are restored with them, unless FOLDER has settings already. Where FOLDER has no admin then, though
its server had one, or where the backup has no settings and so can't say, it is not served until it has one.

  -d, --data FOLDER           (required: it must not hold databases yet)

Exit code: 0 when the folder is complete, 1 on failure or when something is not in it, 2 for a wrong call.
`,
  admin: `Usage: settee admin add NAME [options]

Makes NAME a server admin, or gives that admin another password. The password is asked for twice, and not shown; where
standard input is no terminal, its first line is taken. Its hash is kept in settee.ini in the data folder, which only
its owner can read. A server that is running has to be started again.

  -d, --data FOLDER           (SETTEE_DATA, else ./data)
      --config FILE           the server's configuration file (SETTEE_CONFIG, else settee.ini in the data folder)

Exit code: 0 when it is kept, 1 on failure, 2 for a wrong call.
`,
};
