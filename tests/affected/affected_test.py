"""dev.d/affected.py: a graph written here, and this build's own."""
import importlib.util
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith('-') else None
SCRIPT = ROOT / 'dev.d' / 'affected.py'
specification = importlib.util.spec_from_file_location('affected', SCRIPT)
affected = importlib.util.module_from_spec(specification)
specification.loader.exec_module(affected)

NINJA = f'''rule CXX_COMPILER__library_Release
build one.o: CXX_COMPILER__library_Release {ROOT}/framework/one.cpp || generated
build two$ words.o: CXX_COMPILER__library_Release {ROOT}/framework/two.cpp | $
    {ROOT}/framework/forced.h || generated
build lib.a: LINKER__library one.o two$ words.o
build test.o: CXX_COMPILER__test_Release {ROOT}/tests/test.cpp
build tests/test_one: LINKER__test test.o | lib.a || bin/program
build program.o: CXX_COMPILER__program_Release {ROOT}/apps/main.cpp
build bin/program: LINKER__program program.o
build generated: CUSTOM {ROOT}/weights/data.bin
build tests/test_two: LINKER__test other.o
build other.o: CXX_COMPILER__test_Release {ROOT}/tests/other.cpp
'''
HEADERS = f'''one.o: #deps 2, deps mtime 1 (VALID)
    {ROOT}/framework/one.cpp
    {ROOT}/framework/tensor/shape.h

other.o: #deps 1, deps mtime 1 (VALID)
    {ROOT}/framework/other.h

'''


class SmallGraph(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        Path(self.folder.name, 'build.ninja').write_text(NINJA, encoding='utf-8')
        self.graph = affected.Graph(self.folder.name)
        self.graph.add_headers(HEADERS)
        build = self.graph.folder
        self.tests = [('one', [f'{build}/tests/test_one'], []),
                      ('two', [f'{build}/tests/test_two'], []),
                      ('script', ['/usr/bin/bash', f'{ROOT}/tests/report/run.sh', f'{build}/bin/program'], []),
                      ('whole', ['/usr/bin/bash', f'{ROOT}/tests/tree/check.sh', str(ROOT)], []),
                      ('pages', ['/usr/bin/bash', f'{ROOT}/tests/docs/run.sh', str(ROOT)], [f'{ROOT}/docs'])]

    def names(self, *changed):
        return affected.select(self.graph, self.tests, changed)[0]

    def test_sources_headers_and_forced_headers_reach_the_tests_that_are_made_of_them(self):
        framework = ('framework/one.cpp', 'framework/two.cpp', 'framework/tensor/shape.h', 'framework/forced.h')
        for file in (*framework, 'tests/test.cpp'):
            self.assertEqual(self.names(file), ['one', 'whole'], file)
        self.assertEqual(self.names('framework/other.h'), ['two', 'whole'])

    def test_a_program_that_a_test_runs_counts(self):
        self.assertEqual(self.names('apps/main.cpp'), ['one', 'script', 'whole'])

    def test_what_an_object_is_only_ordered_after_does_not_count(self):
        self.assertEqual(self.names('weights/data.bin'), ['whole'])

    def test_a_script_is_affected_by_its_folder_and_by_what_it_requires(self):
        self.assertEqual(self.names('tests/report/helper.py'), ['script', 'whole'])
        self.assertEqual(self.names('docs/page.md'), ['whole', 'pages'])
        self.assertEqual(self.names('tests/docs/run.sh'), ['whole', 'pages'])

    def test_nothing_changed_affects_nothing(self):
        self.assertEqual(self.names(), [])

    def test_the_programs_to_build_are_those_of_the_affected_tests(self):
        _, programs, _ = affected.select(self.graph, self.tests, ['apps/main.cpp'])
        self.assertEqual({Path(program).name for program in programs}, {'test_one', 'program'})

    def test_what_any_program_may_open_is_told(self):
        changed = ['samples/new.png', 'framework/one.cpp', 'docs/page.md', 'tests/report/helper.py']
        self.assertEqual(affected.select(self.graph, self.tests, changed)[2], ['samples/new.png'])


@unittest.skipUnless(shutil.which('git'), 'git is not installed')
class Git(unittest.TestCase):
    def test_files_since_the_base_and_new_ones_are_changed(self):
        with tempfile.TemporaryDirectory() as folder:
            def git(*words):
                subprocess.run(['git', '-C', folder, '-c', 'user.name=a', '-c', 'user.email=a@b', *words], check=True,
                               capture_output=True)
            git('init', '-b', 'main')
            for number in (1, 2):
                Path(folder, f'{number}.txt').write_text('x', encoding='utf-8')
                git('add', '.')
                git('commit', '-m', str(number))
            root, affected.ROOT = affected.ROOT, folder
            self.addCleanup(setattr, affected, 'ROOT', root)
            self.assertEqual(affected.changed_files(None), ['2.txt'])  # on main: the last commit
            Path(folder, 'new.txt').write_text('x', encoding='utf-8')
            self.assertEqual(affected.changed_files(None), ['new.txt'])  # the work tree has changes
            self.assertEqual(affected.changed_files('HEAD~1'), ['2.txt', 'new.txt'])
            git('checkout', '-b', 'topic')
            git('add', '.')
            git('commit', '-m', 'new')
            self.assertEqual(affected.changed_files(None), ['new.txt'])  # since main
            with self.assertRaisesRegex(affected.NoAnswer, 'git knows no commit nonesuch'):
                affected.changed_files('nonesuch')


@unittest.skipUnless(BUILD, 'no build folder was given')
class ThisBuild(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        graph, cls.Graph = affected.Graph(BUILD), affected.Graph
        affected.Graph = lambda folder: graph  # read once: it takes longer than all answers

    @classmethod
    def tearDownClass(cls):
        affected.Graph = cls.Graph

    def answer(self, *changed):
        sentence, _, pattern = affected.affected_tests(BUILD, changed)
        return sentence, set(pattern.removeprefix('^(').removesuffix(')$').split('|'))

    def test_the_script_prints_the_answer(self):
        changed = ['framework/measuring/statistics.cpp']
        found = subprocess.run([sys.executable, SCRIPT, '--build', BUILD, '--tests', '--changed', *changed], text=True,
                               capture_output=True, check=True)
        sentence, targets, pattern = affected.affected_tests(BUILD, changed)
        self.assertEqual(found.stdout, f"{sentence}\n{' '.join(targets)}\n{pattern}\n")

    def test_a_source_of_the_framework_reaches_library_and_programs(self):
        sentence, names = self.answer('framework/measuring/statistics.cpp')
        self.assertRegex(sentence, r'^\d+ of \d+ tests are affected by 1 changed files$')
        self.assertLessEqual({'framework', 'embedding_errors', 'faults_programs', 'tree_includes'}, names)
        self.assertFalse(names & {'peers', 'sanitize_script', 'mutate_script'}, names)

    def test_a_test_reaches_itself(self):
        _, names = self.answer('tests/embedding/errors_test.c')
        self.assertIn('embedding_errors', names)
        self.assertFalse(names & {'framework', 'io', 'cli', 'conv_cpu', 'embedding_model'}, names)

    def test_a_script_and_a_page_reach_their_tests(self):
        _, names = self.answer('apps/report/page.py')
        self.assertIn('report', names)
        self.assertNotIn('framework', names)
        _, names = self.answer('docs/cli.md')
        self.assertLessEqual({'tree_docs', 'docs_commands'}, names)
        self.assertFalse(names & {'framework', 'report'}, names)

    def test_what_only_test_apps_runs_is_left_out(self):
        _, names = self.answer('tests/weights/training_data_test.py')
        self.assertIn('tree_text', names)
        self.assertNotIn('training_data', names)

    def test_the_build_itself_reaches_all(self):
        for file in ('CMakeLists.txt', 'cmake/LensletTargets.cmake', 'samples/new.png'):
            sentence, names = self.answer(file)
            self.assertEqual(sentence, f'all tests: {file} may affect any of them')
            self.assertEqual(names, {'.'})

    def test_changed_sources_and_a_source_for_a_changed_header(self):
        found = subprocess.run([sys.executable, SCRIPT, '--build', BUILD, '--sources', '--changed',
                                'framework/tensor/shape.h', 'framework/base/text.cpp', 'README.md', 'dev'],
                               text=True, capture_output=True, check=True)
        self.assertEqual(found.stdout.split(), ['framework/base/text.cpp', 'framework/tensor/shape.cpp'])


if __name__ == '__main__':
    unittest.main(verbosity=2)
