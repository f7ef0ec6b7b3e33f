# SPDX-License-Identifier: GPL-2.0-or-later
"""questions.py OBSANALYZE PAGE FILE...: runs the questions of obs-schema(5), taken from the page
itself, on recordings or databases; prints each with its rows. Status 1 if one has no rows in
any of them."""
import re
import subprocess
import sys

analyze, page = sys.argv[1:3]
text = open(page).read()
text = text[text.index('.Sh QUESTIONS'):text.index('.\\" CHAPTER')]
asked = text.split('.It\n')[1:]
failed = len(asked) != 11
for item in asked:
    question, query = re.match(r'(.*?)\.Bd -literal\n(.*?)\.Ed', item, re.S).groups()
    print(question, end='')
    answered = False
    for recording in sys.argv[3:]:
        p = subprocess.run([analyze, 'sql', recording, query], capture_output=True, text=True)
        print('%s:\n%s%s' % (recording, p.stdout, p.stderr))
        answered = answered or p.returncode == 0 and p.stdout.count('\n') > 1
        failed = failed or p.returncode != 0
    if not answered:
        failed = True
        print('no rows')
sys.exit(failed)
