// Lints the committed documents. Needs no network. Exit code 1 if a linter reports a finding.
import { documentFiles } from './documents.ts';
import { judge, lintDocument } from './lint.ts';
import { WAIVERS } from './waivers.ts';

const findings = (await Promise.all(documentFiles().map(lintDocument))).flat();
const { open, needless } = judge(findings, WAIVERS);
for (const { rule, at, message } of open) console.error(`${rule}: ${message}\n  at ${at}`);
for (const { rule, at } of needless) console.error(`${rule}: nothing at ${at} needs this waiver any more`);
if (open.length + needless.length > 0) process.exitCode = 1;
else
  console.log(`${documentFiles().length} documents are clean; ${findings.length} findings are waived, with reasons.`);
