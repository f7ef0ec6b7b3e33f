# SPDX-License-Identifier: GPL-2.0-or-later
{ pkgs ? import <nixpkgs> { } }:
pkgs.stdenv.mkDerivation {
  pname = "obsrec";
  version = builtins.head (builtins.match ".*OBS_VERSION \"([0-9.]+)\".*" (builtins.readFile ../format/version.h));
  src = ../.;
  nativeBuildInputs = [ pkgs.bpftools pkgs.llvmPackages.clang-unwrapped ];
  buildInputs = [ pkgs.elfutils pkgs.gsl pkgs.libbpf pkgs.sqlite pkgs.xz pkgs.zlib pkgs.zstd ];
  hardeningDisable = [ "zerocallusedregs" ];
  dontBuild = true;
  installFlags = [ "prefix=$(out)" "DESTDIR=" ];
  meta.license = pkgs.lib.licenses.gpl2Plus;
}
